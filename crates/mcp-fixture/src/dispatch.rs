//! From a method to who answers it.

use serde_json::{Map, Value, json};
use tokio::sync::broadcast::error::RecvError;

use crate::era;
use crate::exchange::{Era, Exchange, Level};
use crate::fixture::{Change, Fixture, locked};
use crate::message::{Fault, Request};
use crate::session::Session;
use crate::{prompts, resources, tools};

const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// Answers one request of either era, but not `initialize`, which makes the session.
pub(crate) async fn answer(fixture: &Fixture, exchange: &Exchange) -> Result<Value, Fault> {
    let request = &exchange.request;
    let result = match request.method.as_str() {
        "tools/list" => Ok(tools::list(fixture)),
        "tools/call" => tools::call(fixture, exchange).await,
        "resources/list" => Ok(resources::list()),
        "resources/templates/list" => Ok(resources::templates()),
        "resources/read" => resources::read(request),
        "prompts/list" => Ok(prompts::list(fixture)),
        "prompts/get" => prompts::get(exchange).await,
        "completion/complete" => prompts::complete(request),
        method => match &exchange.era {
            Era::Session(session) => of_session(session, request),
            Era::Stateless if method == "server/discover" => Ok(about()),
            Era::Stateless if method == "subscriptions/listen" => listen(fixture, exchange).await,
            Era::Stateless => Err(Fault::unknown_method(method).status(404)),
        },
    };
    match exchange.era {
        Era::Session(_) => result,
        Era::Stateless => result.map(|result| completed(&request.method, result)),
    }
}

/// The answer to `initialize`, and the session that it opens.
pub(crate) fn initialize(request: &Request) -> Result<(Value, Session), Fault> {
    let Some(asked) = request.text("protocolVersion") else {
        return Err(Fault::invalid_params("protocolVersion is missing"));
    };
    let version = if era::is_session_version(asked) { asked } else { era::NEWEST_SESSION };
    let answer = json!({
        "protocolVersion": version,
        "capabilities": capabilities(),
        "serverInfo": server(),
        "instructions": "A server for tests.",
    });
    let theirs = request.params.get("capabilities").cloned().unwrap_or_default();
    Ok((answer, Session::new(theirs)))
}

fn of_session(session: &Session, request: &Request) -> Result<Value, Fault> {
    let uri = || request.text("uri").ok_or_else(|| Fault::invalid_params("uri is missing"));
    match request.method.as_str() {
        "ping" => {}
        "logging/setLevel" => {
            let level = request.text("level").and_then(Level::parse);
            *locked(&session.level) =
                level.ok_or_else(|| Fault::invalid_params("level is not one of the eight"))?;
        }
        "resources/subscribe" => {
            locked(&session.subscriptions).insert(uri()?.to_owned());
        }
        "resources/unsubscribe" => {
            locked(&session.subscriptions).remove(uri()?);
        }
        method => return Err(Fault::unknown_method(method)),
    }
    Ok(json!({}))
}

fn about() -> Value {
    json!({
        "supportedVersions": era::supported(),
        "capabilities": capabilities(),
        "instructions": "A server for tests.",
    })
}

fn server() -> Value {
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

/// What the stateless era wants on every result, and on those that may be kept for a while.
fn completed(method: &str, mut result: Value) -> Value {
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
    meta["io.modelcontextprotocol/serverInfo"] = server();
    result
}

/// Says what changes for as long as the client listens.
async fn listen(fixture: &Fixture, exchange: &Exchange) -> Result<Value, Fault> {
    let Some(Value::Object(wanted)) = exchange.request.params.get("notifications") else {
        return Err(Fault::invalid_params("notifications is missing"));
    };
    // Subscribed before it is acknowledged: what changes after the acknowledgement is heard.
    let mut changes = fixture.changes.subscribe();
    let id = &exchange.request.id;
    let tell = |method: &str, mut params: Value| {
        params["_meta"] = json!({ SUBSCRIPTION_KEY: id });
        exchange.notify(method, &params);
    };
    tell("notifications/subscriptions/acknowledged", json!({ "notifications": wanted }));
    loop {
        match changes.recv().await {
            Ok(change) if wants(wanted, &change) => tell(change.method(), change.params()),
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return Ok(json!({ "_meta": { SUBSCRIPTION_KEY: id } })),
        }
    }
}

fn wants(wanted: &Map<String, Value>, change: &Change) -> bool {
    let flag = |name: &str| wanted.get(name).and_then(Value::as_bool) == Some(true);
    match change {
        Change::Tools => flag("toolsListChanged"),
        Change::Prompts => flag("promptsListChanged"),
        Change::Resource(uri) => wanted
            .get("resourceSubscriptions")
            .and_then(Value::as_array)
            .is_some_and(|uris| uris.iter().any(|wanted| wanted == uri)),
    }
}
