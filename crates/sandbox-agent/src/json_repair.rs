//! Parses JSON of small models, which write line breaks and tabs into strings without escaping them.

use serde_json::{Map, Value};

/// Parses an object; control characters in strings are escaped first if that is necessary.
pub(crate) fn parse_object(text: &str) -> Result<Map<String, Value>, String> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    serde_json::from_str(text)
        .or_else(|error| serde_json::from_str(&escape_controls(text)).map_err(|_| error))
        .map_err(|error| format!("the arguments are not a JSON object: {error}"))
}

/// Escapes control characters inside strings.
pub(crate) fn escape_controls(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let (mut is_string, mut is_escape) = (false, false);
    for c in text.chars() {
        match c {
            '\n' if is_string => escaped.push_str("\\n"),
            '\r' if is_string => escaped.push_str("\\r"),
            '\t' if is_string => escaped.push_str("\\t"),
            c => escaped.push(c),
        }
        is_string ^= c == '"' && !is_escape;
        is_escape = is_string && c == '\\' && !is_escape;
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_breaks_in_strings_are_accepted() {
        let object = parse_object("{\"a\": \"x\n\t\\\"y\\\\\",\n \"b\": \"\"}").unwrap();
        assert_eq!(object["a"], "x\n\t\"y\\");
    }

    #[test]
    fn other_faults_are_reported_as_they_are() {
        let error = parse_object("{\"city\": ").unwrap_err();
        assert!(error.contains("EOF while parsing"), "{error}");
        assert!(parse_object("[1]").is_err());
        assert_eq!(parse_object(" "), Ok(Map::new()));
    }
}
