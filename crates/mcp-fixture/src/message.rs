//! JSON-RPC messages, and the errors of MCP.

use serde_json::{Map, Value, json};

/// A message of the client.
#[derive(Debug)]
pub(crate) enum FixtureMessage {
    Request(FixtureRequest),
    Notification {
        method: String,
        params: Map<String, Value>,
    },
    /// A response to a server-to-client request.
    Response {
        id: Value,
        /// The result, or the error object.
        outcome: Result<Value, Value>,
    },
}

/// A request of the client.
#[derive(Debug, Clone)]
pub(crate) struct FixtureRequest {
    pub(crate) id: Value,
    pub(crate) method: String,
    pub(crate) params: Map<String, Value>,
}

impl FixtureRequest {
    /// An entry of `_meta`.
    pub(crate) fn meta(&self, key: &str) -> Option<&Value> {
        self.params.get("_meta")?.get(key)
    }

    /// A string parameter.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.params.get(key)?.as_str()
    }

    /// A string argument of a tool or prompt.
    pub(crate) fn argument(&self, key: &str) -> Option<&str> {
        self.params.get("arguments")?.get(key)?.as_str()
    }
}

/// A JSON-RPC error.
#[derive(Debug)]
pub(crate) struct FixtureRpcError {
    code: i64,
    message: String,
    data: Option<Value>,
    /// The HTTP status, if the response is not a stream.
    pub(crate) status: u16,
}

impl FixtureRpcError {
    pub(crate) fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None, status: 200 }
    }

    pub(crate) fn parse_error() -> Self {
        Self::new(-32700, "this is not JSON").status(400)
    }

    pub(crate) fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(-32600, message).status(400)
    }

    pub(crate) fn unknown_method(method: &str) -> Self {
        Self::new(-32601, format!("there is no method {method}"))
    }

    pub(crate) fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(-32602, message)
    }

    pub(crate) fn header_mismatch(message: impl Into<String>) -> Self {
        Self::new(-32020, message).status(400)
    }

    /// The client did not declare a capability that this request requires.
    pub(crate) fn missing_capability(capability: &str) -> Self {
        let mut required = Map::new();
        required.insert(capability.to_owned(), json!({}));
        Self::new(-32021, format!("this needs the client capability {capability}"))
            .data(json!({ "requiredCapabilities": required }))
            .status(400)
    }

    pub(crate) fn is_missing_capability(&self) -> bool {
        self.code == -32021
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    pub(crate) fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }
}

/// Parses a message.
pub(crate) fn parse_message(value: Value) -> Result<FixtureMessage, FixtureRpcError> {
    let Value::Object(mut object) = value else {
        return Err(FixtureRpcError::invalid_request("one message is one JSON object"));
    };
    if object.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(FixtureRpcError::invalid_request("jsonrpc must be \"2.0\""));
    }
    let id = object.remove("id");
    let Some(method) = object.get("method").and_then(Value::as_str).map(str::to_owned) else {
        return parse_response(id, object);
    };
    let params = match object.remove("params") {
        None => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => return Err(FixtureRpcError::invalid_request("params must be an object")),
    };
    match id {
        None => Ok(FixtureMessage::Notification { method, params }),
        Some(id @ (Value::String(_) | Value::Number(_))) => {
            Ok(FixtureMessage::Request(FixtureRequest { id, method, params }))
        }
        Some(_) => Err(FixtureRpcError::invalid_request("an id is a text or a number")),
    }
}

fn parse_response(
    id: Option<Value>,
    mut object: Map<String, Value>,
) -> Result<FixtureMessage, FixtureRpcError> {
    let outcome = match (object.remove("result"), object.remove("error")) {
        (Some(result), None) => Ok(result),
        (None, Some(error)) => Err(error),
        _ => return Err(FixtureRpcError::invalid_request("neither a request nor an answer")),
    };
    let id = id.ok_or_else(|| {
        FixtureRpcError::invalid_request("an answer needs the id of its question")
    })?;
    Ok(FixtureMessage::Response { id, outcome })
}

/// The response to the request `id`.
pub(crate) fn response_message(id: &Value, outcome: Result<Value, FixtureRpcError>) -> Value {
    match outcome {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(fault) => {
            let mut error = json!({ "code": fault.code, "message": fault.message });
            if let Some(data) = fault.data {
                error["data"] = data;
            }
            json!({ "jsonrpc": "2.0", "id": id, "error": error })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_single_message_is_refused() {
        for bad in [
            json!([]),
            json!({ "id": 1, "method": "ping" }),
            json!({ "jsonrpc": "2.0", "id": null, "method": "ping" }),
            json!({ "jsonrpc": "2.0", "id": 1, "method": "ping", "params": [] }),
            json!({ "jsonrpc": "2.0", "id": 1 }),
        ] {
            assert!(parse_message(bad.clone()).is_err(), "{bad}");
        }
    }

    #[test]
    fn requests_notifications_and_answers_are_told_apart() {
        let of = |value| parse_message(value).unwrap();

        assert!(matches!(
            of(json!({"jsonrpc":"2.0","id":"a","method":"m"})),
            FixtureMessage::Request(_)
        ));
        assert!(matches!(
            of(json!({"jsonrpc":"2.0","method":"m"})),
            FixtureMessage::Notification { .. }
        ));
        assert!(matches!(
            of(json!({"jsonrpc":"2.0","id":1,"result":{}})),
            FixtureMessage::Response { .. }
        ));
    }
}
