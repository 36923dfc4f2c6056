//! JSON-RPC messages in lines.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The request has no method of this name, or the client does not offer it.
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
/// The parameters of a request are invalid.
pub(crate) const INVALID_PARAMS: i64 = -32602;
/// The client failed.
pub(crate) const INTERNAL_ERROR: i64 = -32603;
/// The agent demands authentication.
pub(crate) const AUTH_REQUIRED: i64 = -32000;
/// A file does not exist.
pub(crate) const NOT_FOUND: i64 = -32002;

/// A message, with its variable parts as they were written.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    Request { id: &'a RawValue, method: String, params: Option<&'a RawValue> },
    Notification { method: String, params: Option<&'a RawValue> },
    Response { id: &'a RawValue, outcome: Result<&'a RawValue, ErrorObject> },
}

/// The error of a response.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct ErrorObject {
    pub(crate) code: i64,
    pub(crate) message: String,
}

#[derive(Deserialize)]
struct MessageFields<'a> {
    #[serde(borrow, default, deserialize_with = "read_present")]
    id: Option<&'a RawValue>,
    method: Option<String>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "read_present")]
    result: Option<&'a RawValue>,
    error: Option<ErrorObject>,
}

/// Reads `null` as a value: a result may be `null`.
fn read_present<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl<'a> Message<'a> {
    /// Reads a line; the error says why it is no message.
    pub(crate) fn read(line: &'a str) -> Result<Self, String> {
        let fields: MessageFields<'a> =
            serde_json::from_str(line).map_err(|error| error.to_string())?;
        let id = fields.id.filter(|id| id.get() != "null");
        match fields {
            MessageFields { method: Some(method), params, .. } => Ok(match id {
                Some(id) => Self::Request { id, method, params },
                None => Self::Notification { method, params },
            }),
            MessageFields { result, error, .. } => {
                let id = id.ok_or("a message without a method and an id")?;
                match (result, error) {
                    (_, Some(error)) => Ok(Self::Response { id, outcome: Err(error) }),
                    (Some(result), None) => Ok(Self::Response { id, outcome: Ok(result) }),
                    (None, None) => Err("a response without a result and an error".to_owned()),
                }
            }
        }
    }
}

pub(crate) fn render_request(id: u64, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

pub(crate) fn render_notification(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()
}

/// Renders a response with the id as the peer wrote it.
pub(crate) fn render_response(id: &RawValue, outcome: &Result<Value, ErrorObject>) -> String {
    let body = match outcome {
        Ok(result) => format!("\"result\":{result}"),
        Err(error) => {
            format!("\"error\":{}", json!({ "code": error.code, "message": error.message }))
        }
    };
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{},{body}}}", id.get())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_a_request_a_notification_or_a_response() {
        let read = |line: &str| format!("{:?}", Message::read(line).unwrap());

        assert!(read(r#"{"id":"a","method":"m","params":{}}"#).starts_with("Request"));
        assert!(read(r#"{"method":"m"}"#).starts_with("Notification"));
        assert!(read(r#"{"id":null,"method":"m"}"#).starts_with("Notification"));
        assert!(read(r#"{"id":1,"result":null}"#).contains("Ok(RawValue(null))"));
        assert!(read(r#"{"id":1,"error":{"code":-1,"message":"no"}}"#).contains("code: -1"));
        assert!(read(r#"{"id":1,"error":{}}"#).contains("Err(ErrorObject"));
    }

    #[test]
    fn anything_else_is_no_message() {
        for line in
            ["", "text", "[]", "1", "null", "{}", r#"{"id":1}"#, r#"{"result":1}"#, "{\"id\":1"]
        {
            assert!(Message::read(line).is_err(), "{line}");
        }
    }

    #[test]
    fn an_id_is_returned_as_it_was_written() {
        let line = r#"{"id":12345678901234567890123,"method":"m"}"#;
        let Ok(Message::Request { id, .. }) = Message::read(line) else { panic!("no request") };
        let error = ErrorObject { code: -1, message: "a\"b".to_owned() };

        let rendered = render_response(id, &Err(error));

        assert_eq!(
            rendered,
            r#"{"jsonrpc":"2.0","id":12345678901234567890123,"error":{"code":-1,"message":"a\"b"}}"#
        );
    }
}
