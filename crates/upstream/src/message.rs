//! Rewrites messages between client and server: ids, progress tokens, and the `_meta` that each
//! protocol revision requires. All other bytes stay unchanged.

use serde_json::Value;
use serde_json::value::RawValue;

use super::handshake::RevisionKind;
use crate::interface::ClientDescription;
use crate::interface::UpstreamError;
use crate::protocol::STATELESS;
use crate::rpc;
use crate::rpc::RawFields;

/// Prefix of `_meta` members that the protocol defines.
const RESERVED: &str = "io.modelcontextprotocol/";
const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const META_INFO: &str = "io.modelcontextprotocol/clientInfo";
const META_LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const META_SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
/// `_meta` members that only the stateless revision has.
const STATELESS_ONLY: [&str; 4] = [META_VERSION, META_CAPABILITIES, META_INFO, META_LOG_LEVEL];

/// A request to a server.
#[derive(Debug, Clone)]
pub(super) struct OutgoingRequest {
    /// The id that the server sees; also its progress token.
    pub(super) id: u64,
    pub(super) method: String,
    /// The value of the `Mcp-Name` header.
    pub(super) name: Option<String>,
    pub(super) text: String,
}

/// The client's own ids, restored in messages that answer its request.
#[derive(Debug, Clone)]
pub(super) struct ClientRequestIds {
    pub(super) id: Box<RawValue>,
    /// The progress token that the client chose.
    pub(super) token: Option<Box<RawValue>>,
}

/// A parsed client request.
pub(super) struct ParsedClientRequest<'a> {
    pub(super) id: &'a RawValue,
    pub(super) method: String,
    pub(super) params: Option<&'a RawValue>,
}

impl<'a> ParsedClientRequest<'a> {
    pub(super) fn read(message: &'a RawValue) -> Result<Self, UpstreamError> {
        let wrong = || UpstreamError::Protocol("the message to send is not a request".to_owned());
        let fields = RawFields::read(message).map_err(|_| wrong())?;
        let method = fields.text("method").ok_or_else(wrong)?.into_owned();
        Ok(Self { id: fields.get("id").ok_or_else(wrong)?, method, params: fields.get("params") })
    }

    /// The request as a server of `handshake` expects it, with the id `id`.
    pub(super) fn to_outgoing_request(
        &self,
        id: u64,
        revision_kind: &RevisionKind,
        client: &RequestClientMeta<'_>,
    ) -> (OutgoingRequest, ClientRequestIds) {
        let (params, token) = self.params_for(id, revision_kind, client);
        let method = Value::from(self.method.as_str());
        let params = params.map_or_else(String::new, |params| format!(r#","params":{params}"#));
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method}{params}}}"#);
        let name = mcp_name(&self.method, self.params);
        let origin = ClientRequestIds { id: self.id.to_owned(), token };
        (OutgoingRequest { id, method: self.method.clone(), name, text }, origin)
    }

    fn params_for(
        &self,
        id: u64,
        revision_kind: &RevisionKind,
        client: &RequestClientMeta<'_>,
    ) -> (Option<String>, Option<Box<RawValue>>) {
        let text = self.params.map_or("{}", RawValue::get);
        let unchanged = || self.params.map(|params| params.get().to_owned());
        let has_token = text.contains("progressToken");
        if *revision_kind != RevisionKind::Stateless && !has_token && !text.contains(RESERVED) {
            return (unchanged(), None);
        }
        let Ok(params) = serde_json::from_str::<RawFields<'_>>(text) else {
            return (unchanged(), None);
        };
        let meta =
            params.get("_meta").and_then(|meta| RawFields::read(meta).ok()).unwrap_or_default();
        let token = meta.get("progressToken").map(ToOwned::to_owned);
        let mut changes = client.meta_changes(revision_kind, &meta);
        if token.is_some() && !cynode_fault::fault!("REQ-MCPGAT-0100") {
            changes.push(("progressToken", Some(id.to_string())));
        }
        let rebuilt = render_with_changes(&meta, &changes);
        let meta = (rebuilt != "{}" || params.get("_meta").is_some()).then_some(rebuilt);
        let params = render_with_changes(&params, &[("_meta", meta)]);
        ((self.params.is_some() || params != "{}").then_some(params), token)
    }
}

/// Client metadata that is sent with each request.
pub(super) struct RequestClientMeta<'a> {
    pub(super) client_description: &'a ClientDescription,
    pub(super) log_level: Option<String>,
}

impl RequestClientMeta<'_> {
    /// The changes to `_meta` of a request of this client.
    fn meta_changes(
        &self,
        revision_kind: &RevisionKind,
        meta: &RawFields<'_>,
    ) -> Vec<(&'static str, Option<String>)> {
        if *revision_kind != RevisionKind::Stateless && cynode_fault::fault!("REQ-MCPGAT-0101") {
            return vec![];
        }
        if *revision_kind != RevisionKind::Stateless {
            return STATELESS_ONLY.map(|name| (name, None)).into();
        }
        let mut changes = vec![(META_VERSION, Some(Value::from(STATELESS).to_string()))];
        if meta.get(META_CAPABILITIES).is_none() {
            changes.push((
                META_CAPABILITIES,
                Some(self.client_description.capabilities.get().to_owned()),
            ));
        }
        if meta.get(META_INFO).is_none()
            && let Some(info) = &self.client_description.info
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

/// One parsed message of a server.
#[derive(Debug)]
pub(super) enum ServerMessage<'a> {
    Request { id: &'a RawValue, method: String },
    Notification { method: String, params: Option<&'a RawValue> },
    Response { id: Option<u64>, body: ResponseBody<'a> },
}

#[derive(Debug, Clone, Copy)]
pub(super) enum ResponseBody<'a> {
    Result(&'a RawValue),
    Error(&'a RawValue),
}

impl<'a> ServerMessage<'a> {
    pub(super) fn read(message: &'a RawValue) -> Result<Self, UpstreamError> {
        let wrong = |reason: String| UpstreamError::Protocol(reason);
        let fields = RawFields::read(message).map_err(|error| wrong(error.to_string()))?;
        let id = fields.get("id");
        if let Some(method) = fields.text("method") {
            let method = method.into_owned();
            return Ok(match id {
                Some(id) => Self::Request { id, method },
                None => Self::Notification { method, params: fields.get("params") },
            });
        }
        let body = match (fields.get("result"), fields.get("error")) {
            (Some(result), None) => ResponseBody::Result(result),
            (None, Some(error)) => ResponseBody::Error(error),
            _ => return Err(wrong("not a request, notification or response".to_owned())),
        };
        Ok(Self::Response { id: id.and_then(|id| id.get().parse().ok()), body })
    }
}

impl ResponseBody<'_> {
    /// The whole response, with the id that the client chose.
    pub(super) fn render_response(self, id: &RawValue) -> Box<RawValue> {
        let id = id.get();
        let (member, body) = match self {
            Self::Result(result) => ("result", result.get()),
            Self::Error(error) => ("error", error.get()),
        };
        rpc::raw(format!(r#"{{"jsonrpc":"2.0","id":{id},"{member}":{body}}}"#))
    }

    pub(super) fn error_code(self) -> Option<i64> {
        let Self::Error(error) = self else { return None };
        RawFields::read(error).ok()?.get("code")?.get().parse().ok()
    }
}

/// The token of a progress notification, if the gateway issued it.
pub(super) fn progress_token(params: Option<&RawValue>) -> Option<u64> {
    RawFields::read(params?).ok()?.get("progressToken")?.get().parse().ok()
}

/// A notification about a request, with the client's own ids.
pub(super) fn notification_for_client(
    method: &str,
    params: Option<&RawValue>,
    origin: &ClientRequestIds,
) -> Option<Box<RawValue>> {
    let fields = RawFields::read(params?).ok()?;
    let mut changes = vec![];
    if method == "notifications/progress" {
        changes.push(("progressToken", Some(origin.token.as_ref()?.get().to_owned())));
    }
    if let Some(meta) = rewrite_subscription_id(&fields, &origin.id) {
        changes.push(("_meta", Some(meta)));
    }
    let params = render_with_changes(&fields, &changes);
    let method = Value::from(method);
    Some(rpc::raw(format!(r#"{{"jsonrpc":"2.0","method":{method},"params":{params}}}"#)))
}

/// A result with the client's own ids: a subscription is identified by the id of its request.
pub(super) fn restore_result_ids(
    result: &RawValue,
    origin: &ClientRequestIds,
) -> Option<Box<RawValue>> {
    let fields =
        result.get().contains(META_SUBSCRIPTION).then(|| RawFields::read(result).ok())??;
    let meta = rewrite_subscription_id(&fields, &origin.id)?;
    Some(rpc::raw(render_with_changes(&fields, &[("_meta", Some(meta))])))
}

fn rewrite_subscription_id(fields: &RawFields<'_>, id: &RawValue) -> Option<String> {
    let meta = RawFields::read(fields.get("_meta")?).ok()?;
    meta.get(META_SUBSCRIPTION)?;
    // A subscription made on behalf of a session has no id that its client knows.
    let id = (id.get() != "null").then(|| id.get().to_owned());
    Some(render_with_changes(&meta, &[(META_SUBSCRIPTION, id)]))
}

/// The value of the `Mcp-Name` header, for the methods that have it.
fn mcp_name(method: &str, params: Option<&RawValue>) -> Option<String> {
    let member = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return None,
    };
    Some(RawFields::read(params?).ok()?.text(member)?.into_owned())
}

/// Renders an object with members replaced, added, or (`None`) removed.
pub(super) fn render_with_changes(
    fields: &RawFields<'_>,
    changes: &[(&str, Option<String>)],
) -> String {
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

    fn about() -> ClientDescription {
        ClientDescription {
            version: "2025-11-25".to_owned(),
            capabilities: rpc::raw(r#"{"sampling":{}}"#.to_owned()),
            info: None,
        }
    }

    fn sent(message: &Value, revision_kind: &RevisionKind) -> (Value, ClientRequestIds) {
        let message = rpc::raw(message.to_string());
        let client_description = about();
        let meta = RequestClientMeta {
            client_description: &client_description,
            log_level: Some("\"info\"".to_owned()),
        };
        let (outgoing, origin) = ParsedClientRequest::read(&message).unwrap().to_outgoing_request(
            7,
            revision_kind,
            &meta,
        );
        (serde_json::from_str(&outgoing.text).unwrap(), origin)
    }

    fn session() -> RevisionKind {
        RevisionKind::Session { version: "2025-11-25".to_owned() }
    }

    #[test]
    fn a_request_travels_under_an_id_and_a_token_of_our_own() {
        let request = json!({"jsonrpc": "2.0", "id": "a", "method": "tools/call",
            "params": {"name": "t", "_meta": {"progressToken": "a", "x": 1}}});

        let (seen, origin) = sent(&request, &session());

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
        let client_description = about();
        let meta = RequestClientMeta { client_description: &client_description, log_level: None };

        let (outgoing, _) =
            ParsedClientRequest::read(&message).unwrap().to_outgoing_request(2, &session(), &meta);

        assert!(outgoing.text.contains(r#""params":{ "name":"t","arguments":{"n": 1.0} }"#));
        assert_eq!(outgoing.name.as_deref(), Some("t"));
    }

    #[test]
    fn a_stateless_server_is_told_about_the_client_with_each_request() {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});

        let (seen, _) = sent(&request, &RevisionKind::Stateless);

        assert_eq!(
            seen["params"]["_meta"],
            json!({META_VERSION: STATELESS, META_CAPABILITIES: {"sampling": {}}, META_LOG_LEVEL: "info"})
        );
    }

    #[test]
    fn a_server_with_sessions_is_not_told_what_only_the_other_revision_knows() {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list",
            "params": {"_meta": {META_VERSION: STATELESS, META_CAPABILITIES: {}, "traceparent": "x"}}});

        let (seen, _) = sent(&request, &session());

        assert_eq!(seen["params"]["_meta"], json!({"traceparent": "x"}));
    }

    #[test]
    fn progress_and_subscriptions_come_back_with_the_clients_own_names() {
        let origin = ClientRequestIds {
            id: rpc::raw("\"listen\"".to_owned()),
            token: Some(rpc::raw("\"mine\"".to_owned())),
        };
        let params = rpc::raw(json!({"progressToken": 7, "progress": 1}).to_string());
        let update = rpc::raw(json!({"uri": "a", "_meta": {META_SUBSCRIPTION: 7}}).to_string());

        let progress =
            notification_for_client("notifications/progress", Some(&params), &origin).unwrap();
        let updated =
            notification_for_client("notifications/resources/updated", Some(&update), &origin)
                .unwrap();

        let progress: Value = serde_json::from_str(progress.get()).unwrap();
        assert_eq!(progress["params"]["progressToken"], "mine");
        let updated: Value = serde_json::from_str(updated.get()).unwrap();
        assert_eq!(updated["params"]["_meta"][META_SUBSCRIPTION], "listen");
    }

    #[test]
    fn answers_are_told_apart_from_requests_and_notifications() {
        let read = |text: &str| {
            let raw = rpc::raw(text.to_owned());
            match ServerMessage::read(&raw) {
                Ok(ServerMessage::Request { .. }) => "request",
                Ok(ServerMessage::Notification { .. }) => "notification",
                Ok(ServerMessage::Response { id: Some(3), body: ResponseBody::Result(_) }) => {
                    "result"
                }
                Ok(ServerMessage::Response { id: None, body: ResponseBody::Error(_) }) => "error",
                Ok(ServerMessage::Response { .. }) => "other",
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
