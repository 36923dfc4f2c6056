//! Checks of request bodies: required fields, types, and no field that the API does not have.

use serde_json::{Map, Value};

use crate::exchange::ForgeExchange;

/// A field of a body.
pub(crate) struct BodyField {
    pub(crate) name: &'static str,
    pub(crate) is_required: bool,
    pub(crate) has_type: fn(&Value) -> bool,
}

pub(crate) const fn text(name: &'static str) -> BodyField {
    BodyField { name, is_required: true, has_type: Value::is_string }
}

pub(crate) const fn optional_text(name: &'static str) -> BodyField {
    BodyField { name, is_required: false, has_type: Value::is_string }
}

pub(crate) const fn optional_flag(name: &'static str) -> BodyField {
    BodyField { name, is_required: false, has_type: Value::is_boolean }
}

/// Parses a body; the error names the field and what is wrong with it.
pub(crate) fn parse_body(
    exchange: &ForgeExchange,
    fields: &[BodyField],
) -> Result<Map<String, Value>, String> {
    let is_json =
        exchange.header("content-type").is_some_and(|it| it.starts_with("application/json"));
    if !is_json {
        return Err("body is not application/json".to_owned());
    }
    let body: Value =
        serde_json::from_slice(&exchange.body).map_err(|_| "Problems parsing JSON".to_owned())?;
    let Value::Object(body) = body else { return Err("body is not an object".to_owned()) };
    for (name, value) in &body {
        let field = fields.iter().find(|field| field.name == name);
        let field = field.ok_or_else(|| format!("{name} is not a permitted key"))?;
        if !(field.has_type)(value) {
            return Err(format!("{name} is invalid"));
        }
    }
    for field in fields.iter().filter(|field| field.is_required) {
        if body.get(field.name).and_then(Value::as_str).is_none_or(str::is_empty) {
            return Err(format!("{} is missing", field.name));
        }
    }
    Ok(body)
}

pub(crate) fn text_of<'b>(body: &'b Map<String, Value>, name: &str) -> Option<&'b str> {
    body.get(name).and_then(Value::as_str)
}
