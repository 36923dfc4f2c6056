//! The handshake: negotiates the protocol revision and reads the server's description.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::link::UpstreamLinkError;
use super::message::{OutgoingRequest, ResponseBody, ServerMessage};
use crate::interface::ClientDescription;
use crate::interface::ServerDescription;
use crate::interface::UpstreamError;
use crate::protocol::NEWEST_SESSION;
use crate::protocol::SESSION_VERSIONS;
use crate::protocol::STATELESS;
use crate::protocol::server_info;
use crate::rpc;
use crate::rpc::RawFields;

const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// Header mismatch, missing capability: codes that only a stateless server returns.
const STATELESS_REFUSALS: [i64; 2] = [-32020, -32021];

/// The kind of protocol revision that was negotiated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RevisionKind {
    /// Sessions, opened with `initialize_params`.
    Session { version: String },
    /// No sessions: each request carries its whole context.
    Stateless,
}

/// The handshake request to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Handshake {
    Initialize,
    Discover,
}

impl Handshake {
    /// The order to try: the client's own kind first, since it needs no bridging.
    pub(super) const fn preferred_order(is_client_stateless: bool) -> [Self; 2] {
        if is_client_stateless {
            [Self::Discover, Self::Initialize]
        } else {
            [Self::Initialize, Self::Discover]
        }
    }

    /// The handshake request on behalf of `client`.
    pub(super) fn request(self, id: u64, client: &ClientDescription) -> OutgoingRequest {
        let (method, params) = match self {
            Self::Initialize => ("initialize", initialize_params(client)),
            Self::Discover => ("server/discover", json!({ "_meta": gateway_meta() })),
        };
        let text = rpc::request(&id.to_string(), method, &params.to_string());
        OutgoingRequest { id, method: method.to_owned(), name: None, text: text.get().to_owned() }
    }

    /// Whether the server rejected the revision but lists that same revision as supported: the
    /// request is sent again.
    pub(super) fn should_retry(self, answer: &RawValue) -> bool {
        let Ok(ServerMessage::Response { body: ResponseBody::Error(error), .. }) =
            ServerMessage::read(answer)
        else {
            return false;
        };
        self == Self::Discover && offers_stateless(error)
    }

    /// Evaluates the handshake response.
    pub(super) fn parse_response(
        self,
        answer: &RawValue,
    ) -> Result<HandshakeOutcome, HandshakeError> {
        let refusal = |text: &str| HandshakeError::Failed(UpstreamError::Protocol(text.to_owned()));
        let Ok(ServerMessage::Response { body, .. }) = ServerMessage::read(answer) else {
            return Err(refusal("it did not send a response to the handshake"));
        };
        let result = match body {
            ResponseBody::Result(result) => result,
            ResponseBody::Error(_)
                if body.error_code().is_some_and(|code| STATELESS_REFUSALS.contains(&code)) =>
            {
                return Err(refusal("it rejected `server/discover`"));
            }
            ResponseBody::Error(_) => return Err(HandshakeError::Unsupported),
        };
        let fields = RawFields::read(result).map_err(|error| refusal(&error.to_string()))?;
        match self {
            Self::Initialize => parse_initialize_result(&fields),
            Self::Discover => parse_discover_result(&fields),
        }
    }
}

/// The outcome of a handshake.
#[derive(Debug)]
pub(super) struct HandshakeOutcome {
    pub(super) revision_kind: RevisionKind,
    pub(super) server_description: ServerDescription,
}

/// Why a handshake failed.
#[derive(Debug)]
pub(super) enum HandshakeError {
    /// The server does not support that revision; the other handshake may work.
    Unsupported,
    /// No response in time. Some older servers ignore unknown methods, so the other handshake may
    /// work; or the server is slow.
    Unanswered,
    /// Neither handshake can work.
    Failed(UpstreamError),
}

impl From<UpstreamLinkError> for HandshakeError {
    fn from(error: UpstreamLinkError) -> Self {
        match error {
            UpstreamLinkError::Rejected { status: 400..=499 }
                if !is_handshake_independent(&error) =>
            {
                Self::Unsupported
            }
            UpstreamLinkError::SessionLost => Self::Unsupported,
            UpstreamLinkError::Rejected { .. } | UpstreamLinkError::Failed(_) => {
                Self::Failed(error.into())
            }
        }
    }
}

/// Credentials and rate limits are rejected with either handshake.
fn is_handshake_independent(error: &UpstreamLinkError) -> bool {
    matches!(error, UpstreamLinkError::Rejected { status: 401 | 403 | 429 })
}

/// Whether a version rejection lists the stateless revision as supported.
fn offers_stateless(error: &RawValue) -> bool {
    let error: Value = serde_json::from_str(error.get()).unwrap_or_default();
    let offered = error["data"]["supported"].as_array();
    error["code"] == rpc::UNSUPPORTED_VERSION
        && offered.is_some_and(|offered| offered.iter().any(|version| version == STATELESS))
}

/// A stateless client cannot answer requests during a call, so no client capabilities are announced
/// to a server with sessions.
fn initialize_params(client: &ClientDescription) -> Value {
    let is_session = SESSION_VERSIONS.contains(&client.version.as_str());
    let version = if is_session { client.version.as_str() } else { NEWEST_SESSION };
    let capabilities = if is_session { parse_or_empty(&client.capabilities) } else { json!({}) };
    let info = client.info.as_deref().map_or_else(server_info, parse_or_empty);
    json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": info })
}

fn parse_or_empty(raw: &RawValue) -> Value {
    serde_json::from_str(raw.get()).unwrap_or_else(|_| json!({}))
}

/// The `_meta` of requests that the gateway sends for itself.
pub(super) fn gateway_meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": server_info(),
    })
}

fn parse_initialize_result(fields: &RawFields<'_>) -> Result<HandshakeOutcome, HandshakeError> {
    let version = fields.text("protocolVersion").unwrap_or_default();
    let Some(known) = SESSION_VERSIONS.into_iter().find(|known| *known == version) else {
        return Err(HandshakeError::Unsupported);
    };
    let info = fields.get("serverInfo").map(ToOwned::to_owned);
    let server_description = server_about(fields, info);
    Ok(HandshakeOutcome {
        revision_kind: RevisionKind::Session { version: known.to_owned() },
        server_description,
    })
}

fn parse_discover_result(fields: &RawFields<'_>) -> Result<HandshakeOutcome, HandshakeError> {
    let versions = fields.get("supportedVersions").map_or("[]", RawValue::get);
    let versions: Vec<String> = serde_json::from_str(versions).unwrap_or_default();
    if !versions.iter().any(|version| version == STATELESS) {
        return Err(HandshakeError::Unsupported);
    }
    let meta = fields.get("_meta").and_then(|meta| RawFields::read(meta).ok()).unwrap_or_default();
    let info = meta.get(SERVER_INFO).or_else(|| fields.get("serverInfo")).map(ToOwned::to_owned);
    Ok(HandshakeOutcome {
        revision_kind: RevisionKind::Stateless,
        server_description: server_about(fields, info),
    })
}

fn server_about(fields: &RawFields<'_>, info: Option<Box<RawValue>>) -> ServerDescription {
    let nothing = || rpc::raw("{}".to_owned());
    ServerDescription {
        capabilities: fields.get("capabilities").map_or_else(nothing, ToOwned::to_owned),
        info: info.unwrap_or_else(nothing),
        instructions: fields.text("instructions").map(std::borrow::Cow::into_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(version: &str) -> ClientDescription {
        let capabilities = rpc::raw(r#"{"sampling":{}}"#.to_owned());
        ClientDescription { version: version.to_owned(), capabilities, info: None }
    }

    fn params(version: &str) -> Value {
        let request = Handshake::Initialize.request(1, &client(version));
        serde_json::from_str::<Value>(&request.text).unwrap()["params"].clone()
    }

    #[test]
    fn a_server_is_told_of_powers_that_the_client_can_use_with_it() {
        assert_eq!(params("2025-06-18")["protocolVersion"], "2025-06-18");
        assert_eq!(params("2025-06-18")["capabilities"], json!({"sampling": {}}));
        assert_eq!(params(STATELESS)["protocolVersion"], NEWEST_SESSION);
        assert_eq!(params(STATELESS)["capabilities"], json!({}));
    }

    #[test]
    fn a_server_that_offers_what_it_refused_is_asked_again() {
        let refusal = |supported: &str| {
            let error = json!({
                "code": rpc::UNSUPPORTED_VERSION, "message": "", "data": { "supported": [supported] },
            });
            rpc::raw(json!({ "jsonrpc": "2.0", "id": 1, "error": error }).to_string())
        };

        assert!(Handshake::Discover.should_retry(&refusal(STATELESS)));
        assert!(!Handshake::Discover.should_retry(&refusal("2025-11-25")));
        assert!(!Handshake::Initialize.should_retry(&refusal(STATELESS)));
    }

    #[test]
    fn a_server_that_does_not_know_a_greeting_is_greeted_otherwise() {
        let refusal =
            rpc::raw(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":""}}"#.into());
        let odd = rpc::raw(
            r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"1999-01-01"}}"#.into(),
        );

        assert!(matches!(
            Handshake::Discover.parse_response(&refusal),
            Err(HandshakeError::Unsupported)
        ));
        assert!(matches!(
            Handshake::Initialize.parse_response(&odd),
            Err(HandshakeError::Unsupported)
        ));
    }
}
