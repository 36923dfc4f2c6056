//! The environment layer.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::ConfigSection;
use super::errors::{ConfigError, ConfigFault};
use super::layers::{ConfigEntry, validate_value};

const PREFIX: &str = "CYNODE_";
const SEPARATOR: &str = "__";

/// The section and key of a variable, in lower case; `None` for other variables.
pub(super) fn section_and_key(variable: &str) -> Option<(String, Vec<String>)> {
    let (section, key) = variable.strip_prefix(PREFIX)?.split_once(SEPARATOR)?;
    if section.is_empty() || key.is_empty() {
        return None;
    }
    let key = key.split(SEPARATOR).map(str::to_ascii_lowercase).collect();
    Some((section.to_ascii_lowercase(), key))
}

/// The entries that the environment sets in a section; aliases first, so that full names win.
pub(super) fn env_entries<S: ConfigSection>(
    env: &BTreeMap<String, String>,
) -> Vec<Result<ConfigEntry, ConfigError>> {
    let defaults = Table::try_from(S::default()).unwrap_or_default();
    let aliases = S::ENV_ALIASES.iter().filter_map(|(variable, key)| {
        let (variable, text) = env.get_key_value(*variable)?;
        Some((variable, vec![(*key).to_owned()], text))
    });
    let named = env.iter().filter_map(|(variable, text)| {
        let (section, path) = section_and_key(variable)?;
        (section == S::NAME).then_some((variable, path, text))
    });
    aliases
        .chain(named)
        .map(|(variable, path, text)| parse_entry::<S>(&defaults, variable, path, text))
        .collect()
}

fn parse_entry<S: ConfigSection>(
    defaults: &Table,
    variable: &str,
    path: Vec<String>,
    text: &str,
) -> Result<ConfigEntry, ConfigError> {
    let origin = variable.to_owned();
    let default = value_at(defaults, &path);
    let candidates = candidates(default, text);
    // A section may accept text although its default has another type; text is tried last.
    let plain = Value::String(text.to_owned());
    let accepted =
        candidates.iter().chain([&plain]).find(|value| validate_value::<S>(&path, value).is_ok());
    if let Some(value) = accepted.cloned() {
        return Ok(ConfigEntry { path, value, origin });
    }
    // A rejected entry is reported with the section's own error.
    match candidates.into_iter().next() {
        Some(value) => Ok(ConfigEntry { path, value, origin }),
        None => Err(ConfigError::Value {
            fault: ConfigFault {
                key: format!("{}.{}", S::NAME, path.join(".")),
                value: plain.to_string(),
                allowed: default.map_or("a value", describe_type).to_owned(),
            },
            origin: Some(origin),
        }),
    }
}

fn value_at<'a>(table: &'a Table, path: &[String]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    let value = table.get(first)?;
    match rest {
        [] => Some(value),
        rest => value_at(value.as_table()?, rest),
    }
}

/// The possible values of a text: by the type of the default, or any type without a default.
fn candidates(default: Option<&Value>, text: &str) -> Vec<Value> {
    match default {
        Some(Value::String(_)) => vec![Value::String(text.to_owned())],
        Some(Value::Array(_)) => lists(text),
        Some(Value::Table(_)) => Vec::new(),
        Some(scalar) => {
            scalars(text).into_iter().filter(|value| has_type_of(scalar, value)).collect()
        }
        None => std::iter::once(Value::String(text.to_owned()))
            .chain(scalars(text))
            .chain(lists(text))
            .collect(),
    }
}

fn has_type_of(default: &Value, value: &Value) -> bool {
    default.same_type(value)
}

fn scalars(text: &str) -> Vec<Value> {
    let text = text.trim();
    let boolean = match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Some(true),
        "false" | "no" | "off" | "0" => Some(false),
        _ => None,
    };
    let integer = text.parse().ok().map(Value::Integer);
    let float = text.parse().ok().filter(|number: &f64| number.is_finite()).map(Value::Float);
    let datetime = text.parse().ok().map(Value::Datetime);
    [integer, float, boolean.map(Value::Boolean), datetime].into_iter().flatten().collect()
}

/// The comma-separated items as text and, if all are numbers, as numbers.
fn lists(text: &str) -> Vec<Value> {
    let parts: Vec<&str> = text.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
    let texts = parts.iter().map(|part| Value::String((*part).to_owned())).collect();
    let numbers: Option<Vec<Value>> =
        parts.iter().map(|part| part.parse().ok().map(Value::Integer)).collect();
    [Some(texts), numbers].into_iter().flatten().map(Value::Array).collect()
}

fn describe_type(default: &Value) -> &'static str {
    match default {
        Value::String(_) => "text",
        Value::Integer(_) => "a whole number",
        Value::Float(_) => "a number",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date and time",
        Value::Array(_) => "a list, separated by commas",
        Value::Table(_) => "a table, with one variable per key",
    }
}
