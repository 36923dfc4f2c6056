//! What tools are told and what they answer, in the log, for who looks for a mistake.
//!
//! Nothing of it is logged unless the level of the target [`TARGET`] is `debug`. Then secrets are taken
//! out before a line is made, and what is long is cut.

use cynode_runtime::redact::{redact, redact_json};
use serde_json::Value;
use serde_json::value::RawValue;
use tracing::{Level, debug, enabled};

use crate::invoke::{Call, cut};
use crate::rpc::Fields;

/// The name under which payloads are logged, as `log.level = "info,cynode::payload=debug"` means it.
const TARGET: &str = "cynode::payload";
/// How much of a payload is shown.
const SHOWN_BYTES: usize = 4096;

/// Logs what a tool is told.
pub(super) fn told(call: &Call) {
    if !enabled!(target: TARGET, Level::DEBUG) {
        return;
    }
    let fields = Fields::read(&call.params).unwrap_or_default();
    let name = cut(&fields.text("name").unwrap_or_default());
    let arguments = shown(fields.get("arguments").map_or("{}", RawValue::get));
    let request = &call.request_id;
    debug!(
        target: TARGET,
        { request.id = request, tool.name = name, payload = arguments },
        "request {request} calls {name} with {arguments}"
    );
}

/// Logs what the caller is answered.
pub(super) fn answered(call: &Call, answer: &str) {
    if !enabled!(target: TARGET, Level::DEBUG) {
        return;
    }
    let (request, answer) = (&call.request_id, shown(answer));
    debug!(
        target: TARGET,
        { request.id = request, payload = answer },
        "request {request} is answered {answer}"
    );
}

/// A payload that may be shown. Fields are looked at by their names first, then the whole text by what
/// secrets look like.
fn shown(json: &str) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(json) else {
        return "what cannot be read".to_owned();
    };
    redact_json(&mut value);
    let text = value.to_string();
    let text = redact(&text);
    let end = (0..=SHOWN_BYTES.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    let kept = text.get(..end.unwrap_or(0)).unwrap_or_default();
    if kept.len() < text.len() { format!("{kept}…") } else { kept.to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_taken_out_of_a_payload_at_every_depth() {
        let inside = json!({ "api_key": "sesame-1" }).to_string();
        let payload = json!({
            "password": "sesame-2",
            "deep": [{ "note": "uses cyn_pm_sesame0123456789", "text": inside }],
            "plain": "kept",
        });

        let text = shown(&payload.to_string());

        assert!(!text.contains("sesame"), "{text}");
        assert!(text.contains("kept") && text.contains("cyn_pm_[redacted]"), "{text}");
    }

    #[test]
    fn a_long_payload_is_cut_between_characters() {
        let text = shown(&json!("ä".repeat(SHOWN_BYTES)).to_string());

        assert!(text.len() <= SHOWN_BYTES + "…".len() && text.ends_with("ä…"));
    }
}
