//! Getting to know a server: which revision it speaks, and what it says about itself.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::link::LinkError;
use super::message::{Body, Incoming, Outgoing};
use crate::protocol::{NEWEST_SESSION, SESSION_VERSIONS, STATELESS, server_info};
use crate::rpc::{self, Fields};
use crate::seams::{ClientAbout, ServerAbout, UpstreamError};

const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// The headers contradict the body, or a capability is missing: only a stateless server says so.
const STATELESS_REFUSALS: [i64; 2] = [-32020, -32021];

/// How a server is spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Era {
    /// With `initialize` first.
    Session {
        /// The revision that was agreed on.
        version: String,
    },
    /// With everything in every request.
    Stateless,
}

/// How to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Greeting {
    Initialize,
    Discover,
}

impl Greeting {
    /// The order to try: what the client speaks is what loses least on the way.
    pub(super) const fn order(is_client_stateless: bool) -> [Self; 2] {
        if is_client_stateless {
            [Self::Discover, Self::Initialize]
        } else {
            [Self::Initialize, Self::Discover]
        }
    }

    /// The first request of a conversation on behalf of `client`.
    pub(super) fn request(self, id: u64, client: &ClientAbout) -> Outgoing {
        let (method, params) = match self {
            Self::Initialize => ("initialize", initialize(client)),
            Self::Discover => ("server/discover", json!({ "_meta": own_meta() })),
        };
        let text = rpc::request(&id.to_string(), method, &params.to_string());
        Outgoing { id, method: method.to_owned(), name: None, text: text.get().to_owned() }
    }

    /// Whether the server refused the revision, and offers that very one: it wants to be asked anew.
    pub(super) fn is_wanted_again(self, answer: &RawValue) -> bool {
        let Ok(Incoming::Response { body: Body::Error(error), .. }) = Incoming::read(answer) else {
            return false;
        };
        self == Self::Discover && offers_stateless(error)
    }

    /// What the answer to it says.
    pub(super) fn learn(self, answer: &RawValue) -> Result<Met, GreetingError> {
        let refusal = |text: &str| GreetingError::Failed(UpstreamError::Protocol(text.to_owned()));
        let Ok(Incoming::Response { body, .. }) = Incoming::read(answer) else {
            return Err(refusal("it answered a greeting with no answer"));
        };
        let result = match body {
            Body::Result(result) => result,
            Body::Error(_)
                if body.code().is_some_and(|code| STATELESS_REFUSALS.contains(&code)) =>
            {
                return Err(refusal("it refuses to be discovered"));
            }
            Body::Error(_) => return Err(GreetingError::NotSpoken),
        };
        let fields = Fields::read(result).map_err(|error| refusal(&error.to_string()))?;
        match self {
            Self::Initialize => of_initialize(&fields),
            Self::Discover => of_discover(&fields),
        }
    }
}

/// What came of a greeting.
#[derive(Debug)]
pub(super) struct Met {
    pub(super) era: Era,
    pub(super) about: ServerAbout,
}

/// Why a greeting did not lead to a conversation.
#[derive(Debug)]
pub(super) enum GreetingError {
    /// The server does not speak that revision; another greeting may work.
    NotSpoken,
    /// The server did not answer in time. Some older ones do not answer what they do not know, so
    /// that another greeting may work; or it was slow.
    Unanswered,
    /// Nothing else would work either.
    Failed(UpstreamError),
}

impl From<LinkError> for GreetingError {
    fn from(error: LinkError) -> Self {
        match error {
            LinkError::Refused { status: 400..=499 } if !other_would_fail(&error) => {
                Self::NotSpoken
            }
            LinkError::Stale => Self::NotSpoken,
            LinkError::Refused { .. } | LinkError::Failed(_) => Self::Failed(error.into()),
        }
    }
}

/// Credentials and rates are refused whatever the greeting.
fn other_would_fail(error: &LinkError) -> bool {
    matches!(error, LinkError::Refused { status: 401 | 403 | 429 })
}

/// Whether a server that refuses a revision says that it speaks the one without sessions.
fn offers_stateless(error: &RawValue) -> bool {
    let error: Value = serde_json::from_str(error.get()).unwrap_or_default();
    let offered = error["data"]["supported"].as_array();
    error["code"] == rpc::UNSUPPORTED_VERSION
        && offered.is_some_and(|offered| offered.iter().any(|version| version == STATELESS))
}

/// A client of the stateless revision cannot be asked anything while it waits, so that a server
/// with sessions must not be told that it can.
fn initialize(client: &ClientAbout) -> Value {
    let is_session = SESSION_VERSIONS.contains(&client.version.as_str());
    let version = if is_session { client.version.as_str() } else { NEWEST_SESSION };
    let capabilities = if is_session { parsed(&client.capabilities) } else { json!({}) };
    let info = client.info.as_deref().map_or_else(server_info, parsed);
    json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": info })
}

fn parsed(raw: &RawValue) -> Value {
    serde_json::from_str(raw.get()).unwrap_or_else(|_| json!({}))
}

/// What we tell of ourselves when we ask on nobody's behalf.
pub(super) fn own_meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": server_info(),
    })
}

fn of_initialize(fields: &Fields<'_>) -> Result<Met, GreetingError> {
    let version = fields.text("protocolVersion").unwrap_or_default();
    let Some(known) = SESSION_VERSIONS.into_iter().find(|known| *known == version) else {
        return Err(GreetingError::NotSpoken);
    };
    let info = fields.get("serverInfo").map(ToOwned::to_owned);
    let about = about(fields, info);
    Ok(Met { era: Era::Session { version: known.to_owned() }, about })
}

fn of_discover(fields: &Fields<'_>) -> Result<Met, GreetingError> {
    let versions = fields.get("supportedVersions").map_or("[]", RawValue::get);
    let versions: Vec<String> = serde_json::from_str(versions).unwrap_or_default();
    if !versions.iter().any(|version| version == STATELESS) {
        return Err(GreetingError::NotSpoken);
    }
    let meta = fields.get("_meta").and_then(|meta| Fields::read(meta).ok()).unwrap_or_default();
    let info = meta.get(SERVER_INFO).or_else(|| fields.get("serverInfo")).map(ToOwned::to_owned);
    Ok(Met { era: Era::Stateless, about: about(fields, info) })
}

fn about(fields: &Fields<'_>, info: Option<Box<RawValue>>) -> ServerAbout {
    let nothing = || rpc::raw("{}".to_owned());
    ServerAbout {
        capabilities: fields.get("capabilities").map_or_else(nothing, ToOwned::to_owned),
        info: info.unwrap_or_else(nothing),
        instructions: fields.text("instructions").map(std::borrow::Cow::into_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(version: &str) -> ClientAbout {
        let capabilities = rpc::raw(r#"{"sampling":{}}"#.to_owned());
        ClientAbout { version: version.to_owned(), capabilities, info: None }
    }

    fn params(version: &str) -> Value {
        let request = Greeting::Initialize.request(1, &client(version));
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

        assert!(Greeting::Discover.is_wanted_again(&refusal(STATELESS)));
        assert!(!Greeting::Discover.is_wanted_again(&refusal("2025-11-25")));
        assert!(!Greeting::Initialize.is_wanted_again(&refusal(STATELESS)));
    }

    #[test]
    fn a_server_that_does_not_know_a_greeting_is_greeted_otherwise() {
        let refusal =
            rpc::raw(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":""}}"#.into());
        let odd = rpc::raw(
            r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"1999-01-01"}}"#.into(),
        );

        assert!(matches!(Greeting::Discover.learn(&refusal), Err(GreetingError::NotSpoken)));
        assert!(matches!(Greeting::Initialize.learn(&odd), Err(GreetingError::NotSpoken)));
    }
}
