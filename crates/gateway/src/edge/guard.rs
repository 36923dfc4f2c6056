//! Request checks: Host and Origin, against DNS rebinding by web pages; and the bearer token.

use axum::response::Response;
use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::{HeaderMap, StatusCode};

use super::response;
use crate::options::GatewayOptions;
use cynode_upstream::rpc::INVALID_REQUEST;
use cynode_upstream::rpc::RpcError;

const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Rejects requests with a Host or Origin that is not allowed.
pub(super) fn check_host_and_origin(
    headers: &HeaderMap,
    options: &GatewayOptions,
) -> Result<(), Box<Response>> {
    let host = headers.get(HOST).map(|host| host.to_str().unwrap_or_default());
    let is_ours = |name: &str| {
        let name = name.to_ascii_lowercase();
        LOOPBACK.contains(&name.as_str())
            || options.allowed_hosts.iter().any(|own| own.eq_ignore_ascii_case(&name))
    };
    // HTTP/2 has no Host header; the listener checked its authority.
    if host.is_some_and(|host| !is_ours(without_port(host))) {
        return Err(Box::new(forbidden("this Host is not in gateway.allowed_hosts")));
    }
    let Some(origin) = headers.get(ORIGIN) else { return Ok(()) };
    let origin = origin.to_str().unwrap_or_default();
    let is_listed = options.allowed_origins.iter().any(|own| own.eq_ignore_ascii_case(origin));
    let name = origin.split_once("://").map(|(_, authority)| without_port(authority));
    if is_listed || name.is_some_and(is_ours) {
        Ok(())
    } else {
        Err(Box::new(forbidden("this Origin is not in gateway.allowed_origins")))
    }
}

fn forbidden(text: &str) -> Response {
    response::error_response(StatusCode::FORBIDDEN, &RpcError::new(INVALID_REQUEST, text))
}

fn without_port(authority: &str) -> &str {
    match authority.rfind(':') {
        // The colons of a bare IPv6 address do not start a port.
        Some(colon) if !authority.ends_with(']') => authority.get(..colon).unwrap_or_default(),
        _ => authority,
    }
}

pub(super) fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return None;
    };
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use http::HeaderName;

    use super::*;

    fn passes(pairs: &[(HeaderName, &str)]) -> bool {
        let headers =
            pairs.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect();
        let options = GatewayOptions {
            allowed_hosts: vec!["gw.example.com".to_owned()],
            allowed_origins: vec!["https://app.example.com".to_owned()],
            ..GatewayOptions::default()
        };
        check_host_and_origin(&headers, &options).is_ok()
    }

    #[test]
    fn only_loopback_and_configured_names_are_answered() {
        for host in [
            "localhost",
            "localhost:12080",
            "127.0.0.1:1",
            "[::1]:80",
            "[::1]",
            "GW.example.com:443",
        ] {
            assert!(passes(&[(HOST, host)]), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example:80",
            "",
            "localhost@evil",
        ] {
            assert!(!passes(&[(HOST, host)]), "{host}");
        }
    }

    #[test]
    fn pages_of_other_origins_are_refused() {
        for origin in ["http://localhost:3000", "http://127.0.0.1", "https://app.example.com"] {
            assert!(passes(&[(HOST, "localhost"), (ORIGIN, origin)]), "{origin}");
        }
        for origin in
            ["https://evil.example", "null", "https://app.example.com.evil", "http://evil:80", ""]
        {
            assert!(!passes(&[(HOST, "localhost"), (ORIGIN, origin)]), "{origin}");
        }
    }

    #[test]
    fn a_token_is_read_from_one_bearer_header_only() {
        let with = |values: &[&str]| {
            let pair = |value: &&str| (AUTHORIZATION, value.parse().unwrap());
            bearer_token(&values.iter().map(pair).collect()).map(str::to_owned)
        };

        assert_eq!(with(&["Bearer abc"]), Some("abc".to_owned()));
        assert_eq!(with(&["bearer  abc "]), Some("abc".to_owned()));
        for none in [&[][..], &["abc"], &["Basic abc"], &["Bearer "], &["Bearer a", "Bearer b"]] {
            assert_eq!(with(none), None, "{none:?}");
        }
    }
}
