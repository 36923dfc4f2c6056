//! Rewriting messages between a client and a server: ids, progress tokens, and what a revision of
//! the protocol wants to be told with each request. Everything else keeps its bytes.

use serde_json::Value;
use serde_json::value::RawValue;

use super::era::Era;
use crate::protocol::STATELESS;
use crate::rpc::{self, Fields};
use crate::seams::{ClientAbout, UpstreamError};

/// What members of `_meta` that belong to the protocol begin with.
const RESERVED: &str = "io.modelcontextprotocol/";
const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const META_INFO: &str = "io.modelcontextprotocol/clientInfo";
const META_LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const META_SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
/// What only the stateless revision tells with a request.
const STATELESS_ONLY: [&str; 4] = [META_VERSION, META_CAPABILITIES, META_INFO, META_LOG_LEVEL];

/// A request on its way to a server.
#[derive(Debug, Clone)]
pub(super) struct Outgoing {
    /// The id that the server sees; it serves as the progress token, too.
    pub(super) id: u64,
    /// The method.
    pub(super) method: String,
    /// What the request is about, for the header that repeats it.
    pub(super) name: Option<String>,
    /// The whole message.
    pub(super) text: String,
}

/// What of a client's request must be put back into what answers it.
#[derive(Debug, Clone)]
pub(super) struct Origin {
    /// The id that the client chose.
    pub(super) id: Box<RawValue>,
    /// The progress token that the client chose.
    pub(super) token: Option<Box<RawValue>>,
}

/// A client's request, read.
pub(super) struct Asked<'a> {
    pub(super) id: &'a RawValue,
    pub(super) method: String,
    pub(super) params: Option<&'a RawValue>,
}

impl<'a> Asked<'a> {
    pub(super) fn read(message: &'a RawValue) -> Result<Self, UpstreamError> {
        let wrong = || UpstreamError::Protocol("what was to be sent is no request".to_owned());
        let fields = Fields::read(message).map_err(|_| wrong())?;
        let method = fields.text("method").ok_or_else(wrong)?.into_owned();
        Ok(Self { id: fields.get("id").ok_or_else(wrong)?, method, params: fields.get("params") })
    }

    /// The request as a server of `era` wants it, under the id `id`.
    pub(super) fn outgoing(&self, id: u64, era: &Era, client: &Told<'_>) -> (Outgoing, Origin) {
        let (params, token) = self.params_for(id, era, client);
        let method = Value::from(self.method.as_str());
        let params = params.map_or_else(String::new, |params| format!(r#","params":{params}"#));
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method}{params}}}"#);
        let name = name_of(&self.method, self.params);
        let origin = Origin { id: self.id.to_owned(), token };
        (Outgoing { id, method: self.method.clone(), name, text }, origin)
    }

    fn params_for(
        &self,
        id: u64,
        era: &Era,
        client: &Told<'_>,
    ) -> (Option<String>, Option<Box<RawValue>>) {
        let text = self.params.map_or("{}", RawValue::get);
        let unchanged = || self.params.map(|params| params.get().to_owned());
        let has_token = text.contains("progressToken");
        if *era != Era::Stateless && !has_token && !text.contains(RESERVED) {
            return (unchanged(), None);
        }
        let Ok(params) = serde_json::from_str::<Fields<'_>>(text) else {
            return (unchanged(), None);
        };
        let meta = params.get("_meta").and_then(|meta| Fields::read(meta).ok()).unwrap_or_default();
        let token = meta.get("progressToken").map(ToOwned::to_owned);
        let mut changes = client.changes(era, &meta);
        if token.is_some() {
            changes.push(("progressToken", Some(id.to_string())));
        }
        let rebuilt = rebuild(&meta, &changes);
        let meta = (rebuilt != "{}" || params.get("_meta").is_some()).then_some(rebuilt);
        let params = rebuild(&params, &[("_meta", meta)]);
        ((self.params.is_some() || params != "{}").then_some(params), token)
    }
}

/// What a server is told about the client with each request.
pub(super) struct Told<'a> {
    pub(super) about: &'a ClientAbout,
    pub(super) log_level: Option<String>,
}

impl Told<'_> {
    /// What changes in the `_meta` of a request of this client.
    fn changes(&self, era: &Era, meta: &Fields<'_>) -> Vec<(&'static str, Option<String>)> {
        if *era != Era::Stateless {
            return STATELESS_ONLY.map(|name| (name, None)).into();
        }
        let mut changes = vec![(META_VERSION, Some(Value::from(STATELESS).to_string()))];
        if meta.get(META_CAPABILITIES).is_none() {
            changes.push((META_CAPABILITIES, Some(self.about.capabilities.get().to_owned())));
        }
        if meta.get(META_INFO).is_none()
            && let Some(info) = &self.about.info
        {
            changes.push((META_INFO, Some(info.get().to_owned())));
        }
        if meta.get(META_LOG_LEVEL).is_none()
            && let Some(level) = &self.log_level
        {
            changes.push((META_LOG_LEVEL, Some(level.clone())));
        }
        changes
    }
}

/// One message of a server.
#[derive(Debug)]
pub(super) enum Incoming<'a> {
    Request { id: &'a RawValue, method: String },
    Notification { method: String, params: Option<&'a RawValue> },
    Response { id: Option<u64>, body: Body<'a> },
}

/// What a response says.
#[derive(Debug, Clone, Copy)]
pub(super) enum Body<'a> {
    Result(&'a RawValue),
    Error(&'a RawValue),
}

impl<'a> Incoming<'a> {
    pub(super) fn read(message: &'a RawValue) -> Result<Self, UpstreamError> {
        let wrong = |reason: String| UpstreamError::Protocol(reason);
        let fields = Fields::read(message).map_err(|error| wrong(error.to_string()))?;
        let id = fields.get("id");
        if let Some(method) = fields.text("method") {
            let method = method.into_owned();
            return Ok(match id {
                Some(id) => Self::Request { id, method },
                None => Self::Notification { method, params: fields.get("params") },
            });
        }
        let body = match (fields.get("result"), fields.get("error")) {
            (Some(result), None) => Body::Result(result),
            (None, Some(error)) => Body::Error(error),
            _ => return Err(wrong("it is no request, notification or response".to_owned())),
        };
        Ok(Self::Response { id: id.and_then(|id| id.get().parse().ok()), body })
    }
}

impl Body<'_> {
    /// The whole response, with the id that the client chose.
    pub(super) fn answer(self, id: &RawValue) -> Box<RawValue> {
        let id = id.get();
        let (member, body) = match self {
            Self::Result(result) => ("result", result.get()),
            Self::Error(error) => ("error", error.get()),
        };
        rpc::raw(format!(r#"{{"jsonrpc":"2.0","id":{id},"{member}":{body}}}"#))
    }

    /// The code of an error.
    pub(super) fn code(self) -> Option<i64> {
        let Self::Error(error) = self else { return None };
        Fields::read(error).ok()?.get("code")?.get().parse().ok()
    }
}

/// The token of a progress notification, if it is one we gave.
pub(super) fn progress_token(params: Option<&RawValue>) -> Option<u64> {
    Fields::read(params?).ok()?.get("progressToken")?.get().parse().ok()
}

/// A notification about a request, as the client knows the request.
pub(super) fn for_client(
    method: &str,
    params: Option<&RawValue>,
    origin: &Origin,
) -> Option<Box<RawValue>> {
    let fields = Fields::read(params?).ok()?;
    let mut changes = vec![];
    if method == "notifications/progress" {
        changes.push(("progressToken", Some(origin.token.as_ref()?.get().to_owned())));
    }
    if let Some(meta) = subscription(&fields, &origin.id) {
        changes.push(("_meta", Some(meta)));
    }
    let params = rebuild(&fields, &changes);
    let method = Value::from(method);
    Some(rpc::raw(format!(r#"{{"jsonrpc":"2.0","method":{method},"params":{params}}}"#)))
}

/// A result as the client knows the request: a subscription is named by the id of its request.
pub(super) fn result_for_client(result: &RawValue, origin: &Origin) -> Option<Box<RawValue>> {
    let fields = result.get().contains(META_SUBSCRIPTION).then(|| Fields::read(result).ok())??;
    let meta = subscription(&fields, &origin.id)?;
    Some(rpc::raw(rebuild(&fields, &[("_meta", Some(meta))])))
}

fn subscription(fields: &Fields<'_>, id: &RawValue) -> Option<String> {
    let meta = Fields::read(fields.get("_meta")?).ok()?;
    meta.get(META_SUBSCRIPTION)?;
    // A subscription that was made on behalf of a session has no id that its client knows.
    let id = (id.get() != "null").then(|| id.get().to_owned());
    Some(rebuild(&meta, &[(META_SUBSCRIPTION, id)]))
}

/// What the header `Mcp-Name` must repeat, for the methods that have it.
fn name_of(method: &str, params: Option<&RawValue>) -> Option<String> {
    let member = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return None,
    };
    Some(Fields::read(params?).ok()?.text(member)?.into_owned())
}

/// An object again, with members replaced, added, or (without a value) left out.
pub(super) fn rebuild(fields: &Fields<'_>, changes: &[(&str, Option<String>)]) -> String {
    let change = |name: &str| changes.iter().find(|(changed, _)| *changed == name);
    let kept = fields.iter().filter_map(|(name, value)| match change(name) {
        Some((_, new)) => new.as_deref().map(|new| (name, new)),
        None => Some((name, value.get())),
    });
    let added = changes
        .iter()
        .filter(|(name, _)| fields.get(name).is_none())
        .filter_map(|(name, value)| value.as_deref().map(|value| (*name, value)));
    let mut text = String::from("{");
    for (name, value) in kept.chain(added) {
        if text.len() > 1 {
            text.push(',');
        }
        text.push_str(&Value::from(name).to_string());
        text.push(':');
        text.push_str(value);
    }
    text.push('}');
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn about() -> ClientAbout {
        ClientAbout {
            version: "2025-11-25".to_owned(),
            capabilities: rpc::raw(r#"{"sampling":{}}"#.to_owned()),
            info: None,
        }
    }

    fn sent(message: &Value, era: &Era) -> (Value, Origin) {
        let message = rpc::raw(message.to_string());
        let about = about();
        let told = Told { about: &about, log_level: Some("\"info\"".to_owned()) };
        let (outgoing, origin) = Asked::read(&message).unwrap().outgoing(7, era, &told);
        (serde_json::from_str(&outgoing.text).unwrap(), origin)
    }

    fn session() -> Era {
        Era::Session { version: "2025-11-25".to_owned() }
    }

    #[test]
    fn a_request_travels_under_an_id_and_a_token_of_our_own() {
        let asked = json!({"jsonrpc": "2.0", "id": "a", "method": "tools/call",
            "params": {"name": "t", "_meta": {"progressToken": "a", "x": 1}}});

        let (seen, origin) = sent(&asked, &session());

        assert_eq!(seen["id"], 7);
        assert_eq!(seen["params"], json!({"name": "t", "_meta": {"progressToken": 7, "x": 1}}));
        assert_eq!((origin.id.get(), origin.token.unwrap().get()), ("\"a\"", "\"a\""));
    }

    #[test]
    fn arguments_keep_their_bytes() {
        let message = rpc::raw(
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{ "name":"t","arguments":{"n": 1.0} }}"#
                .to_owned(),
        );
        let about = about();
        let told = Told { about: &about, log_level: None };

        let (outgoing, _) = Asked::read(&message).unwrap().outgoing(2, &session(), &told);

        assert!(outgoing.text.contains(r#""params":{ "name":"t","arguments":{"n": 1.0} }"#));
        assert_eq!(outgoing.name.as_deref(), Some("t"));
    }

    #[test]
    fn a_stateless_server_is_told_about_the_client_with_each_request() {
        let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});

        let (seen, _) = sent(&asked, &Era::Stateless);

        assert_eq!(
            seen["params"]["_meta"],
            json!({META_VERSION: STATELESS, META_CAPABILITIES: {"sampling": {}}, META_LOG_LEVEL: "info"})
        );
    }

    #[test]
    fn a_server_with_sessions_is_not_told_what_only_the_other_revision_knows() {
        let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list",
            "params": {"_meta": {META_VERSION: STATELESS, META_CAPABILITIES: {}, "traceparent": "x"}}});

        let (seen, _) = sent(&asked, &session());

        assert_eq!(seen["params"]["_meta"], json!({"traceparent": "x"}));
    }

    #[test]
    fn progress_and_subscriptions_come_back_with_the_clients_own_names() {
        let origin = Origin {
            id: rpc::raw("\"listen\"".to_owned()),
            token: Some(rpc::raw("\"mine\"".to_owned())),
        };
        let params = rpc::raw(json!({"progressToken": 7, "progress": 1}).to_string());
        let update = rpc::raw(json!({"uri": "a", "_meta": {META_SUBSCRIPTION: 7}}).to_string());

        let progress = for_client("notifications/progress", Some(&params), &origin).unwrap();
        let updated =
            for_client("notifications/resources/updated", Some(&update), &origin).unwrap();

        let progress: Value = serde_json::from_str(progress.get()).unwrap();
        assert_eq!(progress["params"]["progressToken"], "mine");
        let updated: Value = serde_json::from_str(updated.get()).unwrap();
        assert_eq!(updated["params"]["_meta"][META_SUBSCRIPTION], "listen");
    }

    #[test]
    fn answers_are_told_apart_from_requests_and_notifications() {
        let read = |text: &str| {
            let raw = rpc::raw(text.to_owned());
            match Incoming::read(&raw) {
                Ok(Incoming::Request { .. }) => "request",
                Ok(Incoming::Notification { .. }) => "notification",
                Ok(Incoming::Response { id: Some(3), body: Body::Result(_) }) => "result",
                Ok(Incoming::Response { id: None, body: Body::Error(_) }) => "error",
                Ok(Incoming::Response { .. }) => "other",
                Err(_) => "wrong",
            }
        };

        assert_eq!(read(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#), "request");
        assert_eq!(read(r#"{"jsonrpc":"2.0","method":"x"}"#), "notification");
        assert_eq!(read(r#"{"jsonrpc":"2.0","id":3,"result":{}}"#), "result");
        assert_eq!(read(r#"{"jsonrpc":"2.0","id":null,"error":{}}"#), "error");
        assert_eq!(read(r#"{"jsonrpc":"2.0","id":3}"#), "wrong");
        assert_eq!(read("[]"), "wrong");
    }
}
