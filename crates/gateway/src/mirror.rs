//! Arguments that a tool wants repeated in headers (`x-mcp-header`), so that whoever stands between
//! client and server can see them without reading bodies.
//!
//! Start at [`declared`]. The same declarations serve both sides: requests to servers carry the
//! headers, and requests of clients are refused when headers and body do not agree.

use http::{HeaderMap, HeaderName};
use serde_json::{Map, Value};

use crate::protocol::decode;

const ANNOTATION: &str = "x-mcp-header";
const PREFIX: &str = "mcp-param-";
/// Members of a schema that hold data, not schemas.
const DATA: [&str; 4] = ["const", "default", "enum", "examples"];

/// An argument and the header that repeats it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mirrored {
    /// The header, with its prefix.
    pub(crate) header: HeaderName,
    /// The names that lead to the argument.
    path: Vec<String>,
}

/// The annotations of a tool break the rules for them; such a tool is not offered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadMirror {
    /// The annotation is no name of a header.
    #[error("an {ANNOTATION} is no name of a header")]
    Name,
    /// Two annotations name one header.
    #[error("two {ANNOTATION} are the same")]
    Twice,
    /// The argument is no text, whole number or truth value.
    #[error("an {ANNOTATION} is on something else than a string, integer or boolean")]
    Type,
    /// The annotation is where no single argument can be meant.
    #[error("an {ANNOTATION} cannot be reached by properties alone")]
    Place,
}

/// The arguments that a tool with this input schema wants repeated.
pub(crate) fn declared(schema: &Value) -> Result<Vec<Mirrored>, BadMirror> {
    let mut found = vec![];
    walk(schema, &mut Place::Path(vec![]), &mut found)?;
    Ok(found)
}

/// Where a part of a schema is.
enum Place {
    /// At the end of a chain of properties.
    Path(Vec<String>),
    Elsewhere,
}

fn walk(schema: &Value, place: &mut Place, found: &mut Vec<Mirrored>) -> Result<(), BadMirror> {
    let Value::Object(members) = schema else {
        let parts = schema.as_array().map(Vec::as_slice).unwrap_or_default();
        return parts.iter().try_for_each(|part| walk(part, &mut Place::Elsewhere, found));
    };
    if let Some(name) = members.get(ANNOTATION) {
        found.push(mirrored(name, members, place, found)?);
    }
    for (name, member) in members.iter().filter(|(name, _)| !DATA.contains(&name.as_str())) {
        match (name.as_str(), member) {
            ("properties", Value::Object(properties)) => properties_of(properties, place, found)?,
            // What is named here are schemas, whatever their names.
            ("$defs" | "definitions" | "patternProperties" | "dependentSchemas", member) => {
                let parts = member.as_object().into_iter().flat_map(Map::values);
                for part in parts {
                    walk(part, &mut Place::Elsewhere, found)?;
                }
            }
            _ => walk(member, &mut Place::Elsewhere, found)?,
        }
    }
    Ok(())
}

fn properties_of(
    properties: &Map<String, Value>,
    place: &mut Place,
    found: &mut Vec<Mirrored>,
) -> Result<(), BadMirror> {
    for (name, property) in properties {
        if let Place::Path(path) = place {
            path.push(name.clone());
        }
        walk(property, place, found)?;
        if let Place::Path(path) = place {
            path.pop();
        }
    }
    Ok(())
}

fn mirrored(
    name: &Value,
    schema: &Map<String, Value>,
    place: &Place,
    found: &[Mirrored],
) -> Result<Mirrored, BadMirror> {
    let Place::Path(path) = place else { return Err(BadMirror::Place) };
    if path.is_empty() {
        return Err(BadMirror::Place);
    }
    let name = name.as_str().filter(|name| !name.is_empty()).ok_or(BadMirror::Name)?;
    let header = format!("{PREFIX}{name}").parse::<HeaderName>().map_err(|_| BadMirror::Name)?;
    if found.iter().any(|other| other.header == header) {
        return Err(BadMirror::Twice);
    }
    let kind = schema.get("type").and_then(Value::as_str).unwrap_or_default();
    if !matches!(kind, "string" | "integer" | "boolean") {
        return Err(BadMirror::Type);
    }
    Ok(Mirrored { header, path: path.clone() })
}

impl Mirrored {
    /// What the header must say; nothing when the argument is absent.
    pub(crate) fn value(&self, arguments: &Value) -> Option<String> {
        let found = self.path.iter().try_fold(arguments, |value, name| value.get(name))?;
        match found {
            Value::String(text) => Some(text.clone()),
            Value::Bool(truth) => Some(truth.to_string()),
            // A whole number may be written with a point.
            Value::Number(number) => Some(match (number.as_i64(), number.as_f64()) {
                (None, Some(float)) => format!("{float:.0}"),
                (Some(_), _) | (None, None) => number.to_string(),
            }),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// Whether the headers of a request agree with its arguments; says what is wrong.
    pub(crate) fn agrees(&self, headers: &HeaderMap, arguments: &Value) -> Result<(), String> {
        let name = &self.header;
        let mut values = headers.get_all(name).iter();
        let value = match (values.next(), values.next()) {
            (None, _) => None,
            (Some(value), None) => Some(value),
            (Some(_), Some(_)) => return Err(format!("the {name} header is there twice")),
        };
        match (value, self.value(arguments)) {
            (None, None) => Ok(()),
            (None, Some(_)) => Err(format!("the {name} header is missing")),
            (Some(_), None) => Err(format!("the {name} header repeats no argument")),
            (Some(value), Some(said)) => match value.to_str().ok().and_then(decode) {
                Some(value) if is_same(&value, &said) => Ok(()),
                Some(_) => Err(format!("the {name} header does not say what the body says")),
                None => Err(format!("the {name} header cannot be read")),
            },
        }
    }
}

/// Numbers are the same however they are written.
fn is_same(one: &str, other: &str) -> bool {
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    one == other || number(one).is_some_and(|one| number(other) == Some(one))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn one(property: &Value) -> Result<Vec<Mirrored>, BadMirror> {
        declared(&json!({ "type": "object", "properties": { "a": property } }))
    }

    #[test]
    fn annotated_arguments_are_found_at_any_depth_of_properties() {
        let schema = json!({ "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "x-mcp-header": { "type": "string" },
            "options": { "type": "object", "properties": {
                "limit": { "type": "integer", "x-mcp-header": "Limit", "default": { "x-mcp-header": 1 } },
            } },
        } });
        let found = declared(&schema).unwrap();
        let arguments = json!({ "region": "eu", "options": { "limit": 7.0 } });

        let mut values: Vec<_> =
            found.iter().map(|one| (one.header.as_str(), one.value(&arguments))).collect();

        values.sort();
        let expected = [("mcp-param-limit", "7"), ("mcp-param-region", "eu")];
        assert_eq!(values, expected.map(|(name, value)| (name, Some(value.to_owned()))));
        assert_eq!(found[0].value(&json!({ "region": null })), None);
    }

    #[test]
    fn annotations_that_break_the_rules_are_refused() {
        for (property, fault) in [
            (json!({ "type": "string", "x-mcp-header": "" }), BadMirror::Name),
            (json!({ "type": "string", "x-mcp-header": "a b" }), BadMirror::Name),
            (json!({ "type": "string", "x-mcp-header": "a\r\nb" }), BadMirror::Name),
            (json!({ "type": "string", "x-mcp-header": 7 }), BadMirror::Name),
            (json!({ "type": "number", "x-mcp-header": "A" }), BadMirror::Type),
            (json!({ "type": "object", "x-mcp-header": "A" }), BadMirror::Type),
            (json!({ "x-mcp-header": "A" }), BadMirror::Type),
            (json!({ "items": { "type": "string", "x-mcp-header": "A" } }), BadMirror::Place),
            (json!({ "anyOf": [{ "type": "string", "x-mcp-header": "A" }] }), BadMirror::Place),
            (
                json!({ "items": { "properties": { "b": { "type": "string", "x-mcp-header": "A" } } } }),
                BadMirror::Place,
            ),
        ] {
            assert_eq!(one(&property), Err(fault), "{property}");
        }
        let twice = json!({ "properties": {
            "a": { "type": "string", "x-mcp-header": "Same" },
            "b": { "type": "string", "x-mcp-header": "same" },
        } });
        assert_eq!(declared(&twice), Err(BadMirror::Twice));
        let hidden = json!({ "$defs": { "a": { "type": "string", "x-mcp-header": "A" } } });
        assert_eq!(declared(&hidden), Err(BadMirror::Place));
    }

    #[test]
    fn headers_must_say_what_the_arguments_say() {
        let region = &one(&json!({ "type": "string", "x-mcp-header": "Region" })).unwrap()[0];
        let agrees = |value: Option<&str>, arguments: Value| {
            let mut headers = HeaderMap::new();
            if let Some(value) = value {
                headers.insert(region.header.clone(), value.parse().unwrap());
            }
            region.agrees(&headers, &arguments).is_ok()
        };

        assert!(agrees(Some("eu"), json!({ "a": "eu" })) && agrees(None, json!({})));
        assert!(agrees(None, json!({ "a": null })) && agrees(Some("42.0"), json!({ "a": 42 })));
        assert!(agrees(Some("=?base64?Z3LDtsOfZQ==?="), json!({ "a": "größe" })));
        assert!(!agrees(Some("us"), json!({ "a": "eu" })) && !agrees(None, json!({ "a": "eu" })));
        assert!(
            !agrees(Some("eu"), json!({})) && !agrees(Some("=?base64?!?="), json!({ "a": "x" }))
        );
    }
}
