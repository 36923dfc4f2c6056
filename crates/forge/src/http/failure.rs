//! Classification of unsuccessful answers.

use chrono::{DateTime, TimeDelta, Utc};
use cynode_runtime::redact::redact;
use http::{HeaderMap, StatusCode};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use super::ForgeRequest;
use crate::error::ForgeError;
use crate::text::{MAX_MESSAGE_BYTES, clean_line};

/// The delay if a forge limits the rate and names no time. GitHub asks for at least one minute.
const DEFAULT_DELAY: TimeDelta = TimeDelta::minutes(1);
/// A later time is not believed.
const MAX_DELAY: TimeDelta = TimeDelta::hours(24);

/// The error of an answer that is no success.
pub(super) fn classify(
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    request: &ForgeRequest,
    now: DateTime<Utc>,
    token: &SecretString,
) -> ForgeError {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let message = clean_message(&read_message(&body), token);
    let is_limited = status == StatusCode::TOO_MANY_REQUESTS
        || (status == StatusCode::FORBIDDEN && is_rate_limit(headers, &message));
    match status.as_u16() {
        _ if is_limited => ForgeError::RateLimited { until: limited_until(headers, now) },
        401 | 403 => ForgeError::Unauthorized {
            missing_permission: missing_permission(headers, &body, &message, token),
            reason: if message.is_empty() { format!("HTTP {status}") } else { message },
        },
        404 | 410 => ForgeError::NotFound { what: request.what.clone() },
        408 | 500..=599 => ForgeError::Unavailable {
            reason: format!("HTTP {status}"),
            may_have_applied: request.is_write(),
        },
        400..=499 => ForgeError::Rejected {
            reason: if message.is_empty() { format!("HTTP {status}") } else { message },
        },
        _ => ForgeError::InvalidAnswer { reason: format!("HTTP {status}") },
    }
}

/// The texts of `message`, `error`, `error_description` and `errors`, whatever their form.
fn read_message(body: &Value) -> String {
    let mut texts = Vec::new();
    for key in ["message", "error", "error_description", "errors"] {
        collect_texts(&body[key], 0, &mut texts);
    }
    texts.dedup();
    texts.join(": ")
}

fn collect_texts<'v>(value: &'v Value, depth: usize, texts: &mut Vec<&'v str>) {
    if depth > 3 || texts.len() > 8 {
        return;
    }
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(values) => {
            for value in values {
                collect_texts(value, depth + 1, texts);
            }
        }
        // GitHub: `{"resource": …, "code": …, "message": …}`; GitLab: `{"field": ["reason"]}`.
        Value::Object(fields) if fields.contains_key("message") => {
            collect_texts(&fields["message"], depth + 1, texts);
        }
        Value::Object(fields) => {
            for value in fields.values() {
                collect_texts(value, depth + 1, texts);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// One line without the token and everything that looks like a secret.
fn clean_message(message: &str, token: &SecretString) -> String {
    let message = message.replace(token.expose_secret(), "[redacted]");
    clean_line(&redact(&message), MAX_MESSAGE_BYTES)
}

fn is_rate_limit(headers: &HeaderMap, message: &str) -> bool {
    header(headers, "retry-after").is_some()
        || header(headers, "x-ratelimit-remaining") == Some("0")
        || message.to_ascii_lowercase().contains("rate limit")
}

/// The permission that the token lacks, as the forge names it.
fn missing_permission(
    headers: &HeaderMap,
    body: &Value,
    message: &str,
    token: &SecretString,
) -> Option<String> {
    // Fine-grained tokens of GitHub, then classic ones, then GitLab, then Gitea.
    let scopes = header(headers, "x-accepted-oauth-scopes")
        .filter(|needed| !needed.is_empty() && header(headers, "x-oauth-scopes") != Some(needed));
    let named = header(headers, "x-accepted-github-permissions").or(scopes);
    let named = named.or_else(|| body["scope"].as_str());
    let required = || {
        let (_, required) = message.split_once("required=[").or_else(|| {
            let (_, required) = message.split_once("required scope(s)")?;
            required.split_once('[')
        })?;
        Some(required.split(']').next().unwrap_or_default())
    };
    let permission = clean_message(named.or_else(required)?, token);
    (!permission.is_empty()).then_some(permission)
}

/// When the limit ends: `Retry-After` (seconds or a date), or the reset time of the window.
fn limited_until(headers: &HeaderMap, now: DateTime<Utc>) -> DateTime<Utc> {
    let after = header(headers, "retry-after").and_then(|after| match after.parse::<i64>() {
        Ok(seconds) => now.checked_add_signed(TimeDelta::try_seconds(seconds)?),
        Err(_) => DateTime::parse_from_rfc2822(after).ok().map(Into::into),
    });
    let reset = || {
        let reset = header(headers, "x-ratelimit-reset");
        let reset = reset.or_else(|| header(headers, "ratelimit-reset"));
        DateTime::from_timestamp(reset?.parse().ok()?, 0)
    };
    let until = after.or_else(reset).unwrap_or(now + DEFAULT_DELAY);
    until.clamp(now, now + MAX_DELAY)
}

fn header<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: i64 = 1_800_000_000;

    fn classify_answer(status: u16, headers: &[(&str, &str)], body: &Value) -> ForgeError {
        let headers = headers.iter().map(|(name, value)| {
            (http::HeaderName::try_from(*name).unwrap(), value.parse().unwrap())
        });
        let request = ForgeRequest::get("issue 1", ["x"]);
        classify(
            StatusCode::from_u16(status).unwrap(),
            &headers.collect(),
            body.to_string().as_bytes(),
            &request,
            DateTime::from_timestamp(NOW, 0).unwrap(),
            &"s3cr3t-token".into(),
        )
    }

    fn limited(after_s: i64) -> ForgeError {
        ForgeError::RateLimited { until: DateTime::from_timestamp(NOW + after_s, 0).unwrap() }
    }

    #[test]
    fn rate_limits_name_their_end() {
        let body = json!({ "message": "You have exceeded a secondary rate limit." });

        for (status, headers, after_s) in [
            (429, vec![("retry-after", "30")], 30),
            (403, vec![("retry-after", "30"), ("x-ratelimit-reset", "1800000500")], 30),
            (403, vec![("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1800000500")], 500),
            (429, vec![("ratelimit-reset", "1800000500")], 500),
            (429, vec![("retry-after", "Fri, 15 Jan 2027 08:01:00 GMT")], 60),
            (403, vec![], 60),
            (429, vec![("retry-after", "9999999999")], 86400),
            (429, vec![("x-ratelimit-reset", "1")], 0),
        ] {
            assert_eq!(classify_answer(status, &headers, &body), limited(after_s), "{headers:?}");
        }
    }

    #[test]
    fn missing_permissions_are_named_as_each_forge_does() {
        let github = json!({ "message": "Resource not accessible by personal access token" });
        let gitlab = json!({ "error": "insufficient_scope", "scope": "api" });
        let gitea = json!({ "message": "token does not have at least one of required scope(s), required=[write:issue], token scope=read:issue" });
        let permission = "x-accepted-github-permissions";

        for (headers, body, expected) in [
            (vec![(permission, "pull_requests=write")], &github, Some("pull_requests=write")),
            (vec![("x-accepted-oauth-scopes", "repo")], &github, Some("repo")),
            (vec![], &gitlab, Some("api")),
            (vec![], &gitea, Some("write:issue")),
            (vec![], &github, None),
        ] {
            let ForgeError::Unauthorized { missing_permission, .. } =
                classify_answer(403, &headers, body)
            else {
                panic!("not unauthorized");
            };
            assert_eq!(missing_permission.as_deref(), expected);
        }
    }

    #[test]
    fn reasons_are_one_line_without_the_token() {
        let body = json!({
            "message": "Validation\nFailed",
            "errors": [{ "resource": "PullRequest", "message": "no s3cr3t-token \u{1b}[31mhere" }],
        });

        let rejected = classify_answer(422, &[], &body);

        let reason = "Validation Failed: no [redacted] here".to_owned();
        assert_eq!(rejected, ForgeError::Rejected { reason });
    }

    #[test]
    fn only_failures_of_the_forge_may_be_retried() {
        for (status, is_retryable) in
            [(500, true), (502, true), (404, false), (409, false), (418, false)]
        {
            assert_eq!(
                classify_answer(status, &[], &Value::Null).is_retryable(),
                is_retryable,
                "{status}"
            );
        }
    }
}
