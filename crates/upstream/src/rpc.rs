//! JSON-RPC messages: parsed without copying, rendered without re-serialising their parts.
//!
//! Start at [`ClientMessage::read`]. Arguments and results keep their bytes ([`RawValue`]).
//!
//! Invariant: an object with a duplicate member is rejected wherever a decision reads it. Two
//! parsers may pick different values, and the policy decision must see the value that the tool will
//! see.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

pub(crate) const PARSE_ERROR: i32 = -32700;
/// The body is JSON, but not a single JSON-RPC message.
pub const INVALID_REQUEST: i32 = -32600;
pub const METHOD_NOT_FOUND: i32 = -32601;
pub const INVALID_PARAMS: i32 = -32602;
pub const INTERNAL_ERROR: i32 = -32603;
/// The headers contradict the body.
pub const HEADER_MISMATCH: i32 = -32020;
/// The client lacks a capability that the request needs.
pub const MISSING_CAPABILITY: i32 = -32021;
pub const UNSUPPORTED_VERSION: i32 = -32022;

/// A JSON-RPC error response.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcError {
    pub code: i32,
    pub message: String,
    pub data: Option<Value>,
}

impl RpcError {
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    #[must_use]
    pub fn with(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }
}

/// One message of a client.
#[derive(Debug)]
pub enum ClientMessage<'a> {
    /// Expects a response.
    Request { id: &'a RawValue, method: Cow<'a, str>, params: Option<&'a RawValue> },
    /// Expects no response.
    Notification { method: Cow<'a, str> },
    /// Answers a request of the gateway.
    Response { id: &'a RawValue },
}

impl<'a> ClientMessage<'a> {
    /// Parses a body; an error carries the request id, if it was readable.
    pub fn read(body: &'a [u8]) -> Result<Self, (Option<&'a RawValue>, RpcError)> {
        let text = std::str::from_utf8(body)
            .map_err(|_| (None, RpcError::new(PARSE_ERROR, "the body is not UTF-8")))?;
        let raw: &RawValue = serde_json::from_str(text).map_err(|error| {
            (None, RpcError::new(PARSE_ERROR, format!("invalid JSON: {error}")))
        })?;
        if raw.get().starts_with('[') {
            let refusal = "batches are not supported; send one message per request";
            return Err((None, RpcError::new(INVALID_REQUEST, refusal)));
        }
        let fields = RawFields::read(raw)
            .map_err(|fault| (None, RpcError::new(INVALID_REQUEST, fault.to_string())))?;
        Self::from_fields(&fields)
    }

    fn from_fields(fields: &RawFields<'a>) -> Result<Self, (Option<&'a RawValue>, RpcError)> {
        let id = fields.get("id");
        let refuse = |text: &str| {
            let answerable = id.filter(|id| is_id(id));
            Err((answerable, RpcError::new(INVALID_REQUEST, text)))
        };
        if fields.text("jsonrpc").as_deref() != Some("2.0") {
            return refuse("jsonrpc must be \"2.0\"");
        }
        if id.is_some_and(|id| !is_id(id)) {
            return refuse("id must be a string or an integer");
        }
        match (fields.text("method"), id) {
            (Some(method), Some(id)) => {
                Ok(Self::Request { id, method, params: fields.get("params") })
            }
            (Some(method), None) => Ok(Self::Notification { method }),
            (None, Some(id)) if fields.get("result").is_some() != fields.get("error").is_some() => {
                Ok(Self::Response { id })
            }
            (None, _) => refuse("not a request, notification or response"),
        }
    }
}

/// The id is repeated in the response, so the client must be able to read it there.
fn is_id(id: &RawValue) -> bool {
    let text = id.get();
    text.parse::<i64>().is_ok() || serde_json::from_str::<CowText<'_>>(text).is_ok()
}

/// The members of an object, in order, each as raw JSON.
#[derive(Debug, Default)]
pub struct RawFields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> RawFields<'a> {
    pub fn read(raw: &'a RawValue) -> Result<Self, serde_json::Error> {
        serde_json::from_str(raw.get())
    }

    pub fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// The member as text; `None` if it is absent or not a string.
    pub fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        let raw = self.get(name)?.get();
        serde_json::from_str::<CowText<'a>>(raw).ok().map(|text| text.0)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(name, value)| (name.as_ref(), *value))
    }

    /// Renders the object with one member replaced.
    pub fn with(&self, name: &str, value: &str) -> String {
        let mut text = String::with_capacity(256);
        text.push('{');
        for (at, (known, raw)) in self.iter().enumerate() {
            if at > 0 {
                text.push(',');
            }
            push_string(&mut text, known);
            text.push(':');
            if known == name { push_string(&mut text, value) } else { text.push_str(raw.get()) }
        }
        text.push('}');
        text
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for RawFields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RawFieldsVisitor;
        impl<'de> Visitor<'de> for RawFieldsVisitor {
            type Value = RawFields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields: Vec<(Cow<'de, str>, &'de RawValue)> = vec![];
                while let Some(CowText(name)) = map.next_key::<CowText<'de>>()? {
                    if fields.iter().any(|(known, _)| *known == name) {
                        return Err(de::Error::custom(format_args!("\"{name}\" is given twice")));
                    }
                    fields.push((name, map.next_value()?));
                }
                Ok(RawFields(fields))
            }
        }
        deserializer.deserialize_map(RawFieldsVisitor)
    }
}

/// A string that borrows where possible.
struct CowText<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for CowText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CowTextVisitor;
        impl<'de> Visitor<'de> for CowTextVisitor {
            type Value = CowText<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(CowText(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(CowText(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(CowTextVisitor)
    }
}

/// Parses a value; rejects objects with duplicate members at any depth.
pub fn parse_strict(raw: &RawValue) -> Result<Value, serde_json::Error> {
    serde_json::from_str::<StrictValue>(raw.get()).map(|strict| strict.0)
}

struct StrictValue(Value);

impl<'de> Deserialize<'de> for StrictValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Self)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = vec![];
        while let Some(StrictValue(item)) = seq.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            if object.contains_key(&name) {
                return Err(de::Error::custom(format_args!("\"{name}\" is given twice")));
            }
            let StrictValue(value) = map.next_value()?;
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

pub fn render_result(id: &RawValue, result: &str) -> String {
    let id = id.get();
    let mut text = String::with_capacity(result.len() + id.len() + 40);
    text.push_str(r#"{"jsonrpc":"2.0","id":"#);
    text.push_str(id);
    text.push_str(r#","result":"#);
    text.push_str(result);
    text.push('}');
    text
}

/// An error response; `id` is null if none could be read.
pub fn error(id: Option<&RawValue>, error: &RpcError) -> String {
    let id = id.map_or("null", RawValue::get);
    let mut text = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{}"#, error.code);
    text.push_str(r#","message":"#);
    push_string(&mut text, &error.message);
    if let Some(data) = &error.data {
        text.push_str(r#","data":"#);
        text.push_str(&data.to_string());
    }
    text.push_str("}}");
    text
}

/// A request; `params` is JSON and is inserted unchanged.
pub fn request(id: &str, method: &str, params: &str) -> Box<RawValue> {
    let mut text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"#);
    push_string(&mut text, method);
    text.push_str(r#","params":"#);
    text.push_str(params);
    text.push('}');
    raw(text)
}

pub fn render_notification(method: &str, params: &Value) -> Box<RawValue> {
    raw(serde_json::json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string())
}

/// Wraps text that is known to be JSON. Invalid JSON becomes `null` rather than a panic.
pub fn raw(text: String) -> Box<RawValue> {
    RawValue::from_string(text).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

fn push_string(text: &mut String, value: &str) {
    text.push_str(&Value::from(value).to_string());
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refusal(body: &str) -> (Option<String>, i32) {
        let (id, error) = ClientMessage::read(body.as_bytes()).unwrap_err();
        (id.map(|id| id.get().to_owned()), error.code)
    }

    #[test]
    fn a_request_keeps_the_bytes_of_its_id_and_parameters() {
        let body =
            br#"{"jsonrpc":"2.0","id":"a\u0062","method":"tools/call","params":{ "x" : 1.0 }}"#;

        let Ok(ClientMessage::Request { id, method, params }) = ClientMessage::read(body) else {
            panic!("no request");
        };

        assert_eq!((id.get(), method.as_ref()), ("\"a\\u0062\"", "tools/call"));
        assert_eq!(params.unwrap().get(), r#"{ "x" : 1.0 }"#);
    }

    #[test]
    fn what_is_no_single_message_is_refused_with_the_id_it_had() {
        assert_eq!(refusal("{"), (None, PARSE_ERROR));
        assert_eq!(refusal("[]"), (None, INVALID_REQUEST));
        assert_eq!(refusal("7"), (None, INVALID_REQUEST));
        assert_eq!(
            refusal(r#"{"jsonrpc":"1.0","id":3,"method":"x"}"#),
            (Some("3".into()), INVALID_REQUEST)
        );
        assert_eq!(refusal(r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#), (None, INVALID_REQUEST));
        assert_eq!(refusal(r#"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#), (None, INVALID_REQUEST));
        assert_eq!(refusal(r#"{"jsonrpc":"2.0","id":1}"#), (Some("1".into()), INVALID_REQUEST));
    }

    #[test]
    fn a_member_given_twice_is_refused_at_any_depth() {
        assert_eq!(
            refusal(r#"{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}"#).1,
            INVALID_REQUEST
        );
        let nested = raw(r#"{"a":[{"b":1,"b":2}]}"#.to_owned());

        let error = parse_strict(&nested).unwrap_err();

        assert!(error.to_string().contains("\"b\" is given twice"), "{error}");
    }

    #[test]
    fn strict_reading_sees_what_plain_reading_sees() {
        let text = r#"{"a":[1,-2,1.5,"x",null,true,{"b":18446744073709551615}]}"#;

        let strict = parse_strict(&raw(text.to_owned())).unwrap();

        assert_eq!(strict, serde_json::from_str::<Value>(text).unwrap());
    }

    #[test]
    fn one_member_is_replaced_and_the_others_keep_their_bytes() {
        let params = raw(r#"{"name":"files.read","arguments":{"n": 1.0},"_meta":{}}"#.to_owned());

        let replaced = RawFields::read(&params).unwrap().with("name", "read");

        assert_eq!(replaced, r#"{"name":"read","arguments":{"n": 1.0},"_meta":{}}"#);
    }

    #[test]
    fn answers_are_json_whatever_the_message_holds() {
        let fault = RpcError::new(INTERNAL_ERROR, "a \"b\"\n").with(json!({"x": 1}));

        let text = error(None, &fault);

        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            value["error"],
            json!({"code": -32603, "message": "a \"b\"\n", "data": {"x": 1}})
        );
        assert_eq!(value["id"], Value::Null);
    }
}
