//! The challenge of a registry that issues tokens: `Bearer realm="…",service="…",scope="…"`.

use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BearerChallenge {
    pub(super) realm: String,
    pub(super) service: Option<String>,
    pub(super) scope: Option<String>,
}

impl BearerChallenge {
    pub(super) fn parse(header: &str) -> Option<Self> {
        let (scheme, mut rest) = header.trim().split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let (mut realm, mut service, mut scope) = (None, None, None);
        while let Some((name, after)) = rest.split_once("=\"") {
            let (value, next) = after.split_once('"')?;
            let slot = match name.trim_start_matches([',', ' ']) {
                "realm" => &mut realm,
                "service" => &mut service,
                "scope" => &mut scope,
                _ => &mut None,
            };
            *slot = Some(value.to_owned());
            rest = next;
        }
        Some(Self { realm: realm?, service, scope })
    }
}

#[derive(Deserialize)]
struct TokenResponse {
    token: Option<String>,
    access_token: Option<String>,
}

pub(super) fn parse_token(body: &[u8]) -> Option<String> {
    let response: TokenResponse = serde_json::from_slice(body).ok()?;
    let token = response.token.or(response.access_token)?;
    // It becomes a header.
    token.bytes().all(|byte| byte.is_ascii_graphic()).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bearer_challenge_names_where_tokens_are() {
        let header = r#"Bearer realm="https://auth.example/token",service="r",scope="repository:a/b:pull,push""#;

        let challenge = BearerChallenge::parse(header).unwrap();

        assert_eq!(challenge.realm, "https://auth.example/token");
        assert_eq!(challenge.scope.as_deref(), Some("repository:a/b:pull,push"));
        assert_eq!(BearerChallenge::parse("Basic realm=\"x\""), None);
        assert_eq!(BearerChallenge::parse("Bearer service=\"x\""), None);
    }

    #[test]
    fn a_token_that_is_no_header_value_is_rejected() {
        assert_eq!(parse_token(br#"{"token":"abc"}"#).as_deref(), Some("abc"));
        assert_eq!(parse_token(br#"{"access_token":"abc"}"#).as_deref(), Some("abc"));
        assert_eq!(parse_token(b"{\"token\":\"a\\r\\nHost: x\"}"), None);
        assert_eq!(parse_token(b"{}"), None);
    }
}
