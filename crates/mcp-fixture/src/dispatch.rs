//! Routes requests to handlers by method.

use serde_json::{Map, Value, json};
use tokio::sync::broadcast::error::RecvError;

use crate::exchange::{FixtureEra, FixtureExchange, FixtureLogLevel};
use crate::fixture::{FixtureChange, McpFixture, lock};
use crate::message::{FixtureRequest, FixtureRpcError};
use crate::protocol_era;
use crate::session::FixtureSession;
use crate::{prompts, resources, tools};

const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// Handles one request of either protocol era, except `initialize`, which creates the session.
pub(crate) async fn handle_request(
    fixture: &McpFixture,
    exchange: &FixtureExchange,
) -> Result<Value, FixtureRpcError> {
    let request = &exchange.request;
    let result = match request.method.as_str() {
        "tools/list" => Ok(tools::list_tools(fixture)),
        "tools/call" => tools::call_tool(fixture, exchange).await,
        "resources/list" => Ok(resources::list_resources()),
        "resources/templates/list" => Ok(resources::list_templates()),
        "resources/read" => resources::read_resource(request),
        "prompts/list" => Ok(prompts::list_prompts(fixture)),
        "prompts/get" => prompts::get_prompt(exchange).await,
        "completion/complete" => prompts::complete_argument(request),
        method => match &exchange.era {
            FixtureEra::Session(session) => handle_session_method(session, request),
            FixtureEra::Stateless if method == "server/discover" => Ok(discovery_result()),
            FixtureEra::Stateless if method == "subscriptions/listen" => {
                stream_changes(fixture, exchange).await
            }
            FixtureEra::Stateless => Err(FixtureRpcError::unknown_method(method).status(404)),
        },
    };
    match exchange.era {
        FixtureEra::Session(_) => result,
        FixtureEra::Stateless => result.map(|result| complete_result(&request.method, result)),
    }
}

/// Handles `initialize`: returns the response and the new session.
pub(crate) fn initialize(
    request: &FixtureRequest,
) -> Result<(Value, FixtureSession), FixtureRpcError> {
    let Some(asked) = request.text("protocolVersion") else {
        return Err(FixtureRpcError::invalid_params("protocolVersion is missing"));
    };
    let version =
        if protocol_era::is_session_version(asked) { asked } else { protocol_era::NEWEST_SESSION };
    let answer = json!({
        "protocolVersion": version,
        "capabilities": capabilities(),
        "serverInfo": server_info(),
        "instructions": "A server for tests.",
    });
    let theirs = request.params.get("capabilities").cloned().unwrap_or_default();
    Ok((answer, FixtureSession::new(theirs)))
}

fn handle_session_method(
    session: &FixtureSession,
    request: &FixtureRequest,
) -> Result<Value, FixtureRpcError> {
    let uri =
        || request.text("uri").ok_or_else(|| FixtureRpcError::invalid_params("uri is missing"));
    match request.method.as_str() {
        "ping" => {}
        "logging/setLevel" => {
            let level = request.text("level").and_then(FixtureLogLevel::parse);
            *lock(&session.level) = level
                .ok_or_else(|| FixtureRpcError::invalid_params("level is not one of the eight"))?;
        }
        "resources/subscribe" => {
            lock(&session.subscriptions).insert(uri()?.to_owned());
        }
        "resources/unsubscribe" => {
            lock(&session.subscriptions).remove(uri()?);
        }
        method => return Err(FixtureRpcError::unknown_method(method)),
    }
    Ok(json!({}))
}

fn discovery_result() -> Value {
    json!({
        "supportedVersions": protocol_era::supported_versions(),
        "capabilities": capabilities(),
        "instructions": "A server for tests.",
    })
}

fn server_info() -> Value {
    json!({ "name": "cynode-mcp-fixture", "version": env!("CARGO_PKG_VERSION") })
}

fn capabilities() -> Value {
    json!({
        "tools": { "listChanged": true },
        "resources": { "subscribe": true, "listChanged": true },
        "prompts": { "listChanged": true },
        "completions": {},
        "logging": {},
    })
}

/// Adds the fields that the stateless era requires on every result and on cacheable results.
fn complete_result(method: &str, mut result: Value) -> Value {
    let may_be_kept =
        method.ends_with("/list") || matches!(method, "resources/read" | "server/discover");
    let Value::Object(fields) = &mut result else {
        return result;
    };
    fields.entry("resultType").or_insert_with(|| json!("complete"));
    if may_be_kept {
        fields.insert("ttlMs".to_owned(), json!(0));
        fields.insert("cacheScope".to_owned(), json!("public"));
    }
    let meta = fields.entry("_meta").or_insert_with(|| json!({}));
    meta["io.modelcontextprotocol/serverInfo"] = server_info();
    result
}

/// Streams change notifications until the client disconnects.
async fn stream_changes(
    fixture: &McpFixture,
    exchange: &FixtureExchange,
) -> Result<Value, FixtureRpcError> {
    let Some(Value::Object(wanted)) = exchange.request.params.get("notifications") else {
        return Err(FixtureRpcError::invalid_params("notifications is missing"));
    };
    // Subscribed before the acknowledgement, so that no later change is missed.
    let mut changes = fixture.changes.subscribe();
    let id = &exchange.request.id;
    let tell = |method: &str, mut params: Value| {
        params["_meta"] = json!({ SUBSCRIPTION_KEY: id });
        exchange.notify(method, &params);
    };
    tell("notifications/subscriptions/acknowledged", json!({ "notifications": wanted }));
    loop {
        match changes.recv().await {
            Ok(change) if is_subscribed(wanted, &change) => tell(change.method(), change.params()),
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return Ok(json!({ "_meta": { SUBSCRIPTION_KEY: id } })),
        }
    }
}

fn is_subscribed(wanted: &Map<String, Value>, change: &FixtureChange) -> bool {
    let flag = |name: &str| wanted.get(name).and_then(Value::as_bool) == Some(true);
    match change {
        FixtureChange::Tools => flag("toolsListChanged"),
        FixtureChange::Prompts => flag("promptsListChanged"),
        FixtureChange::Resource(uri) => wanted
            .get("resourceSubscriptions")
            .and_then(Value::as_array)
            .is_some_and(|uris| uris.iter().any(|wanted| wanted == uri)),
    }
}
