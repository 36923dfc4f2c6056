//! Tool arguments that are mirrored in headers (`x-mcp-header`), so that proxies can see them
//! without parsing bodies.
//!
//! Start at [`parse_mirrored_arguments`]. The same declarations serve both sides: requests to servers carry the
//! headers, and client requests whose headers contradict the body are rejected.

use http::{HeaderMap, HeaderName};
use serde_json::{Map, Value};

use crate::protocol::decode_header_value;

const ANNOTATION: &str = "x-mcp-header";
const PREFIX: &str = "mcp-param-";
/// Members of a schema that hold data, not schemas.
const DATA: [&str; 4] = ["const", "default", "enum", "examples"];

/// An argument and the header that mirrors it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MirroredArgument {
    /// The header, with its prefix.
    pub header: HeaderName,
    /// The property path of the argument.
    path: Vec<String>,
}

/// The annotations of a tool are invalid; such a tool is not offered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MirrorAnnotationError {
    #[error("an {ANNOTATION} annotation is not a valid header name")]
    Name,
    #[error("two {ANNOTATION} annotations name the same header")]
    Duplicate,
    #[error("an {ANNOTATION} annotation is not on a string, integer or boolean")]
    Type,
    /// The annotation is not on a plain chain of properties.
    #[error("an {ANNOTATION} annotation is not on a plain chain of properties")]
    Position,
}

/// The mirrored arguments of a tool with this input schema.
pub fn parse_mirrored_arguments(
    schema: &Value,
) -> Result<Vec<MirroredArgument>, MirrorAnnotationError> {
    let mut found = vec![];
    walk_schema(schema, &mut SchemaPosition::Path(vec![]), &mut found)?;
    Ok(found)
}

/// The position of a subschema.
enum SchemaPosition {
    /// At the end of a chain of properties.
    Path(Vec<String>),
    Elsewhere,
}

fn walk_schema(
    schema: &Value,
    position: &mut SchemaPosition,
    found: &mut Vec<MirroredArgument>,
) -> Result<(), MirrorAnnotationError> {
    let Value::Object(members) = schema else {
        let parts = schema.as_array().map(Vec::as_slice).unwrap_or_default();
        return parts
            .iter()
            .try_for_each(|part| walk_schema(part, &mut SchemaPosition::Elsewhere, found));
    };
    if let Some(name) = members.get(ANNOTATION) {
        found.push(parse_annotation(name, members, position, found)?);
    }
    for (name, member) in members.iter().filter(|(name, _)| !DATA.contains(&name.as_str())) {
        match (name.as_str(), member) {
            ("properties", Value::Object(properties)) => {
                walk_properties(properties, position, found)?;
            }
            // Every member here is a schema, even one with the name of a keyword.
            ("$defs" | "definitions" | "patternProperties" | "dependentSchemas", member) => {
                let parts = member.as_object().into_iter().flat_map(Map::values);
                for part in parts {
                    walk_schema(part, &mut SchemaPosition::Elsewhere, found)?;
                }
            }
            _ => walk_schema(member, &mut SchemaPosition::Elsewhere, found)?,
        }
    }
    Ok(())
}

fn walk_properties(
    properties: &Map<String, Value>,
    position: &mut SchemaPosition,
    found: &mut Vec<MirroredArgument>,
) -> Result<(), MirrorAnnotationError> {
    for (name, property) in properties {
        if let SchemaPosition::Path(path) = position {
            path.push(name.clone());
        }
        walk_schema(property, position, found)?;
        if let SchemaPosition::Path(path) = position {
            path.pop();
        }
    }
    Ok(())
}

fn parse_annotation(
    name: &Value,
    schema: &Map<String, Value>,
    position: &SchemaPosition,
    found: &[MirroredArgument],
) -> Result<MirroredArgument, MirrorAnnotationError> {
    let SchemaPosition::Path(path) = position else { return Err(MirrorAnnotationError::Position) };
    if path.is_empty() {
        return Err(MirrorAnnotationError::Position);
    }
    let name = name.as_str().filter(|name| !name.is_empty()).ok_or(MirrorAnnotationError::Name)?;
    let header =
        format!("{PREFIX}{name}").parse::<HeaderName>().map_err(|_| MirrorAnnotationError::Name)?;
    if found.iter().any(|other| other.header == header) {
        return Err(MirrorAnnotationError::Duplicate);
    }
    let kind = schema.get("type").and_then(Value::as_str).unwrap_or_default();
    if !matches!(kind, "string" | "integer" | "boolean") {
        return Err(MirrorAnnotationError::Type);
    }
    Ok(MirroredArgument { header, path: path.clone() })
}

impl MirroredArgument {
    /// The expected header value; `None` if the argument is absent.
    pub fn value(&self, arguments: &Value) -> Option<String> {
        let found = self.path.iter().try_fold(arguments, |value, name| value.get(name))?;
        match found {
            Value::String(text) => Some(text.clone()),
            Value::Bool(truth) => Some(truth.to_string()),
            // An integer may be written with a decimal point.
            Value::Number(number) => Some(match (number.as_i64(), number.as_f64()) {
                (None, Some(float)) => format!("{float:.0}"),
                (Some(_), _) | (None, None) => number.to_string(),
            }),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// Checks the headers of a request against its arguments.
    pub fn check_header(&self, headers: &HeaderMap, arguments: &Value) -> Result<(), String> {
        let name = &self.header;
        let mut values = headers.get_all(name).iter();
        let value = match (values.next(), values.next()) {
            (None, _) => None,
            (Some(value), None) => Some(value),
            (Some(_), Some(_)) => return Err(format!("the {name} header is duplicated")),
        };
        match (value, self.value(arguments)) {
            (None, None) => Ok(()),
            (None, Some(_)) => Err(format!("the {name} header is missing")),
            (Some(_), None) => Err(format!("the {name} header has no matching argument")),
            (Some(value), Some(said)) => match value.to_str().ok().and_then(decode_header_value) {
                Some(value) if is_equal_value(&value, &said) => Ok(()),
                Some(_) => Err(format!("the {name} header does not match the body")),
                None => Err(format!("the {name} header cannot be decoded")),
            },
        }
    }
}

/// Compares numbers by value, other text exactly.
fn is_equal_value(one: &str, other: &str) -> bool {
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    one == other || number(one).is_some_and(|one| number(other) == Some(one))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn one(property: &Value) -> Result<Vec<MirroredArgument>, MirrorAnnotationError> {
        parse_mirrored_arguments(&json!({ "type": "object", "properties": { "a": property } }))
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
        let found = parse_mirrored_arguments(&schema).unwrap();
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
            (json!({ "type": "string", "x-mcp-header": "" }), MirrorAnnotationError::Name),
            (json!({ "type": "string", "x-mcp-header": "a b" }), MirrorAnnotationError::Name),
            (json!({ "type": "string", "x-mcp-header": "a\r\nb" }), MirrorAnnotationError::Name),
            (json!({ "type": "string", "x-mcp-header": 7 }), MirrorAnnotationError::Name),
            (json!({ "type": "number", "x-mcp-header": "A" }), MirrorAnnotationError::Type),
            (json!({ "type": "object", "x-mcp-header": "A" }), MirrorAnnotationError::Type),
            (json!({ "x-mcp-header": "A" }), MirrorAnnotationError::Type),
            (
                json!({ "items": { "type": "string", "x-mcp-header": "A" } }),
                MirrorAnnotationError::Position,
            ),
            (
                json!({ "anyOf": [{ "type": "string", "x-mcp-header": "A" }] }),
                MirrorAnnotationError::Position,
            ),
            (
                json!({ "items": { "properties": { "b": { "type": "string", "x-mcp-header": "A" } } } }),
                MirrorAnnotationError::Position,
            ),
        ] {
            assert_eq!(one(&property), Err(fault), "{property}");
        }
        let twice = json!({ "properties": {
            "a": { "type": "string", "x-mcp-header": "Same" },
            "b": { "type": "string", "x-mcp-header": "same" },
        } });
        assert_eq!(parse_mirrored_arguments(&twice), Err(MirrorAnnotationError::Duplicate));
        let hidden = json!({ "$defs": { "a": { "type": "string", "x-mcp-header": "A" } } });
        assert_eq!(parse_mirrored_arguments(&hidden), Err(MirrorAnnotationError::Position));
    }

    #[test]
    fn headers_must_say_what_the_arguments_say() {
        let region = &one(&json!({ "type": "string", "x-mcp-header": "Region" })).unwrap()[0];
        let agrees = |value: Option<&str>, arguments: Value| {
            let mut headers = HeaderMap::new();
            if let Some(value) = value {
                headers.insert(region.header.clone(), value.parse().unwrap());
            }
            region.check_header(&headers, &arguments).is_ok()
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
