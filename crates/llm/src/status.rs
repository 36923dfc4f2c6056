//! Maps HTTP statuses and error bodies of providers to errors.

use std::time::Duration;

use chrono::DateTime;
use cynode_llm_wire::openai::CREDENTIAL_CODE;
use reqwest::StatusCode;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use secrecy::ExposeSecret;

use serde_json::Value;

use crate::{ProviderCredential, ProviderError};

/// The most bytes of an error body that are read.
pub(crate) const ERROR_BYTES: usize = 64 << 10;
/// The most characters of a provider's message that are passed on.
const MESSAGE_CHARS: usize = 300;
/// The most characters of its error code that are passed on.
const CODE_CHARS: usize = 100;
/// The upper bound of `Retry-After`.
const LONGEST_WAIT: Duration = Duration::from_hours(24);

/// Returns the error of a response that is not a success.
pub(crate) fn classify_response(
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    secret: Option<&ProviderCredential>,
) -> ProviderError {
    let body = ProviderErrorBody::parse(body, secret);
    let status_code = status.as_u16();
    let retry_after = retry_after(headers);
    match status_code {
        401 | 403 => ProviderError::Unauthorized { message: body.message(status) },
        // Waiting does not refill an exhausted quota.
        429 if body.has_kind("insufficient_quota") => body.into_rejection(status),
        429 => ProviderError::RateLimited { retry_after },
        // The message of an orchestrator without a credential explains how to add one; waiting does not help.
        503 if body.has_kind(CREDENTIAL_CODE) => body.into_rejection(status),
        408 | 500.. => ProviderError::Unavailable { status: status_code, retry_after },
        400 if body.has_kind("content_filter") => {
            ProviderError::Refused { message: body.message(status) }
        }
        _ => body.into_rejection(status),
    }
}

/// Returns the error in a body or event that should have been an answer; `None` if it holds none.
pub(crate) fn parse_error(
    body: &[u8],
    secret: Option<&ProviderCredential>,
) -> Option<ProviderError> {
    let body = ProviderErrorBody::parse(body, secret);
    if body.text.is_empty() && body.kinds.is_empty() {
        return None;
    }
    Some(if body.has_kind("rate_limit") {
        ProviderError::RateLimited { retry_after: None }
    } else if ["overloaded", "server_error", "api_error", "timeout"]
        .iter()
        .any(|k| body.has_kind(k))
    {
        ProviderError::Unavailable { status: 200, retry_after: None }
    } else {
        body.into_rejection(StatusCode::OK)
    })
}

/// An error body in any of the common shapes.
struct ProviderErrorBody {
    text: String,
    /// `type` and `code` of the error.
    kinds: Vec<String>,
    code: Option<String>,
}

impl ProviderErrorBody {
    fn parse(body: &[u8], secret: Option<&ProviderCredential>) -> Self {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let error = body.get("error").unwrap_or(&Value::Null);
        let words = [error.get("message"), Some(error), body.get("detail")]
            .into_iter()
            .flatten()
            .find_map(Value::as_str)
            .unwrap_or_default();
        let kinds = ["type", "code"].iter().filter_map(|key| error.get(key)?.as_str());
        let kinds = kinds.map(str::to_owned).collect();
        let code = error.get("code").and_then(Value::as_str);
        let code = code.map(|code| redact_secret(code, secret).chars().take(CODE_CHARS).collect());
        Self { text: redact_secret(words, secret), kinds, code }
    }

    fn has_kind(&self, kind: &str) -> bool {
        self.kinds.iter().any(|body| body.contains(kind))
    }

    fn into_rejection(self, status: StatusCode) -> ProviderError {
        let message = self.message(status);
        ProviderError::Rejected { status: status.as_u16(), message, code: self.code }
    }

    fn message(&self, status: StatusCode) -> String {
        if self.text.is_empty() {
            return status.canonical_reason().unwrap_or("no reason given").to_owned();
        }
        self.text.chars().take(MESSAGE_CHARS).collect()
    }
}

/// Redacts the key: providers quote the key that they reject.
fn redact_secret(words: &str, secret: Option<&ProviderCredential>) -> String {
    match secret.map(ExposeSecret::expose_secret) {
        Some(secret) if !secret.is_empty() => words.replace(secret, "[redacted]"),
        Some(_) | None => words.to_owned(),
    }
}

/// Parses the wait from `retry-after-ms` (milliseconds) or `Retry-After` (seconds, or a date by the provider's clock).
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let seconds = |text: &str, unit: f64| {
        let wait = text.parse::<f64>().ok()? / unit;
        // NaN and negative values are ignored; infinite ones are clamped.
        (wait >= 0.0).then(|| Duration::from_secs_f64(wait.min(LONGEST_WAIT.as_secs_f64())))
    };
    if let Some(wait) = text("retry-after-ms").and_then(|text| seconds(text, 1000.0)) {
        return Some(wait);
    }
    let body = text(RETRY_AFTER.as_str())?;
    seconds(body, 1.0).or_else(|| {
        let at = DateTime::parse_from_rfc2822(body).ok()?;
        let now = DateTime::parse_from_rfc2822(text(DATE.as_str())?).ok()?;
        Some((at - now).to_std().unwrap_or_default().min(LONGEST_WAIT))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classified(
        status: u16,
        headers: &[(&'static str, &'static str)],
        body: &str,
    ) -> ProviderError {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().unwrap());
        }
        let secret = ProviderCredential::from("sk-very-secret");
        classify_response(
            StatusCode::from_u16(status).unwrap(),
            &map,
            body.as_bytes(),
            Some(&secret),
        )
    }

    fn limited(seconds: u64) -> ProviderError {
        ProviderError::RateLimited { retry_after: Some(Duration::from_secs(seconds)) }
    }

    #[test]
    fn a_wait_is_read_in_each_of_its_forms() {
        let dates = [
            ("retry-after", "Wed, 21 Oct 2015 07:28:30 GMT"),
            ("date", "Wed, 21 Oct 2015 07:28:00 GMT"),
        ];

        assert_eq!(classified(429, &[("retry-after", "7")], ""), limited(7));
        assert_eq!(
            classified(429, &[("retry-after-ms", "2000"), ("retry-after", "7")], ""),
            limited(2)
        );
        assert_eq!(classified(429, &dates, ""), limited(30));
        assert_eq!(classified(429, &[], ""), ProviderError::RateLimited { retry_after: None });
        for none in ["-1", "nan", "-inf", "soon"] {
            assert_eq!(classified(429, &[("retry-after", none)], "").retry_after(), None, "{none}");
        }
        for endless in ["1e20", "inf", "100000000000000000000000000000"] {
            assert_eq!(
                classified(429, &[("retry-after", endless)], ""),
                limited(86_400),
                "{endless}"
            );
        }
    }

    #[test]
    fn an_account_without_money_is_not_asked_to_wait() {
        let body = r#"{"error":{"message":"You exceeded your quota","code":"insufficient_quota"}}"#;

        let error = classified(429, &[("retry-after", "1")], body);

        assert!(matches!(error, ProviderError::Rejected { status: 429, .. }), "{error:?}");
    }

    #[test]
    fn an_orchestrator_without_a_credential_says_how_to_give_it_one() {
        let body = r#"{"error":{"message":"see: cynork creds set","code":"credential_unusable"}}"#;

        let error = classified(503, &[], body);

        assert!(!error.is_transient() && error.to_string().contains("creds set"), "{error}");
    }

    #[test]
    fn a_key_that_the_provider_repeats_is_not_told_on() {
        let body = r#"{"error":{"message":"Incorrect API key provided: sk-very-secret."}}"#;

        let message = "Incorrect API key provided: [redacted].".to_owned();

        assert_eq!(classified(401, &[], body), ProviderError::Unauthorized { message });
    }

    #[test]
    fn an_overloaded_provider_is_unavailable() {
        let body = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;

        let unavailable = ProviderError::Unavailable { status: 529, retry_after: None };

        assert_eq!(classified(529, &[], body), unavailable);
        assert!(parse_error(body.as_bytes(), None).unwrap().is_transient());
        assert_eq!(parse_error(b"{\"choices\":[]}", None), None);
    }
}
