//! Logs the arguments and results of tools, for debugging.
//!
//! Logs nothing unless the target [`TARGET`] is at level `debug`. Payloads are redacted and
//! truncated before they are logged.

use cynode_domain::text::ellipsize_bytes;
use cynode_runtime::redact::{redact, redact_json};
use serde_json::Value;
use serde_json::value::RawValue;
use tracing::{Level, debug, enabled};

use crate::invoke::GatewayCall;
use crate::invoke::truncate_name;
use cynode_upstream::rpc::RawFields;

/// The log target, as in `log.level = "info,cynode::payload=debug"`.
const TARGET: &str = "cynode::payload";
/// Bytes of a payload that are logged.
const SHOWN_BYTES: usize = 4096;

/// Logs the arguments of a call.
pub(super) fn log_arguments(call: &GatewayCall) {
    if !enabled!(target: TARGET, Level::DEBUG) {
        return;
    }
    let fields = RawFields::read(&call.params).unwrap_or_default();
    let name = truncate_name(&fields.text("name").unwrap_or_default());
    let arguments = redact_payload(fields.get("arguments").map_or("{}", RawValue::get));
    let request = &call.request_id;
    debug!(
        target: TARGET,
        { request.id = request, tool.name = name, payload = arguments },
        "request {request} calls {name} with {arguments}"
    );
}

/// Logs the response of a call.
pub(super) fn log_response(call: &GatewayCall, answer: &str) {
    if !enabled!(target: TARGET, Level::DEBUG) {
        return;
    }
    let (request, answer) = (&call.request_id, redact_payload(answer));
    debug!(
        target: TARGET,
        { request.id = request, payload = answer },
        "request {request} gets the response {answer}"
    );
}

/// Redacts a payload: first fields by name, then the whole text by known secret patterns.
fn redact_payload(json: &str) -> String {
    if cynode_fault::fault!("REQ-MCPGAT-0111") {
        return json.to_owned();
    }
    let Ok(mut value) = serde_json::from_str::<Value>(json) else {
        return "(invalid JSON)".to_owned();
    };
    redact_json(&mut value);
    let text = value.to_string();
    ellipsize_bytes(&redact(&text), SHOWN_BYTES).into_owned()
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

        let text = redact_payload(&payload.to_string());

        assert!(!text.contains("sesame"), "{text}");
        assert!(text.contains("kept") && text.contains("cyn_pm_[redacted]"), "{text}");
    }

    #[test]
    fn a_long_payload_is_cut_between_characters() {
        let text = redact_payload(&json!("ä".repeat(SHOWN_BYTES)).to_string());

        assert!(text.len() <= SHOWN_BYTES && text.ends_with("ä…"));
    }
}
