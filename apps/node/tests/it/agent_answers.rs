//! What the fake orchestrator answers to requests of agents.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

/// How requests of agents are answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum AgentAnswers {
    /// With the number of the request.
    #[default]
    Numbers,
    /// By a model that wants one call of the first tool, and an MCP server with the tool `echo`.
    Scripted,
    /// By the same MCP server, and a model that never answers.
    SilentModel,
}

pub(crate) async fn answer_agent(
    answers: AgentAnswers,
    number: usize,
    path: &str,
    body: &str,
) -> Response {
    match (answers, path) {
        (AgentAnswers::Numbers, _) => format!("answer {number}").into_response(),
        (AgentAnswers::Scripted | AgentAnswers::SilentModel, "/mcp") => answer_tools(body),
        (AgentAnswers::Scripted, _) => answer_model(body),
        (AgentAnswers::SilentModel, _) => std::future::pending().await,
    }
}

fn answer_model(body: &str) -> Response {
    let request: Value = serde_json::from_str(body).unwrap();
    let messages = request["messages"].as_array().unwrap();
    let message = if let Some(result) = messages.iter().find(|message| message["role"] == "tool") {
        json!({ "role": "assistant", "content": format!("Heard {}", result["content"]) })
    } else {
        let function =
            json!({ "name": request["tools"][0]["function"]["name"], "arguments": "{}" });
        let call = json!({ "id": "call_1", "type": "function", "function": function });
        json!({ "role": "assistant", "content": null, "tool_calls": [call] })
    };
    Json(json!({ "choices": [{ "index": 0, "message": message }] })).into_response()
}

fn answer_tools(body: &str) -> Response {
    let request: Value = serde_json::from_str(body).unwrap();
    let result = match request["method"].as_str().unwrap() {
        "initialize" => json!({
            "protocolVersion": request["params"]["protocolVersion"],
            "capabilities": { "tools": {} }, "serverInfo": { "name": "fake", "version": "1" },
        }),
        "tools/list" => {
            let schema = json!({ "type": "object", "properties": {} });
            json!({ "tools": [{ "name": "echo", "inputSchema": schema }] })
        }
        "tools/call" => json!({ "content": [{ "type": "text", "text": "an echo" }] }),
        _ => return StatusCode::ACCEPTED.into_response(),
    };
    Json(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result })).into_response()
}
