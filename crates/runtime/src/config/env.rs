//! Environment variables as entries of a section.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::Section;
use super::faults::{Complaint, Fault};
use super::layers::{Entry, try_alone};

const PREFIX: &str = "CYNODE_";
const SEPARATOR: &str = "__";

/// The section and key a variable names, in lower case; nothing for variables of others.
pub(super) fn section_and_key(variable: &str) -> Option<(String, Vec<String>)> {
    let (section, key) = variable.strip_prefix(PREFIX)?.split_once(SEPARATOR)?;
    if section.is_empty() || key.is_empty() {
        return None;
    }
    let key = key.split(SEPARATOR).map(str::to_ascii_lowercase).collect();
    Some((section.to_ascii_lowercase(), key))
}

/// What the environment sets in a section; the aliases first, so that full names win.
pub(super) fn entries<S: Section>(env: &BTreeMap<String, String>) -> Vec<Result<Entry, Complaint>> {
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
        .map(|(variable, path, text)| entry::<S>(&defaults, variable, path, text))
        .collect()
}

fn entry<S: Section>(
    defaults: &Table,
    variable: &str,
    path: Vec<String>,
    text: &str,
) -> Result<Entry, Complaint> {
    let origin = variable.to_owned();
    let default = at(defaults, &path);
    let candidates = candidates(default, text);
    // A section may read text that its default's type does not suggest; it is asked last.
    let plain = Value::String(text.to_owned());
    let accepted =
        candidates.iter().chain([&plain]).find(|value| try_alone::<S>(&path, value).is_ok());
    if let Some(value) = accepted.cloned() {
        return Ok(Entry { path, value, origin });
    }
    // An entry that the section refuses is reported with the section's own words.
    match candidates.into_iter().next() {
        Some(value) => Ok(Entry { path, value, origin }),
        None => Err(Complaint::Value {
            fault: Fault {
                key: format!("{}.{}", S::NAME, path.join(".")),
                value: plain.to_string(),
                allowed: default.map_or("a value", type_in_words).to_owned(),
            },
            origin: Some(origin),
        }),
    }
}

fn at<'a>(table: &'a Table, path: &[String]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    let value = table.get(first)?;
    match rest {
        [] => Some(value),
        rest => at(value.as_table()?, rest),
    }
}

/// What a text may mean: by the type of the default, or anything for a key without a default.
fn candidates(default: Option<&Value>, text: &str) -> Vec<Value> {
    match default {
        Some(Value::String(_)) => vec![Value::String(text.to_owned())],
        Some(Value::Array(_)) => lists(text),
        Some(Value::Table(_)) => Vec::new(),
        Some(scalar) => scalars(text).into_iter().filter(|value| fits(scalar, value)).collect(),
        None => std::iter::once(Value::String(text.to_owned()))
            .chain(scalars(text))
            .chain(lists(text))
            .collect(),
    }
}

fn fits(default: &Value, value: &Value) -> bool {
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

/// The parts between commas, as text and, where all are numbers, as numbers.
fn lists(text: &str) -> Vec<Value> {
    let parts: Vec<&str> = text.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
    let texts = parts.iter().map(|part| Value::String((*part).to_owned())).collect();
    let numbers: Option<Vec<Value>> =
        parts.iter().map(|part| part.parse().ok().map(Value::Integer)).collect();
    [Some(texts), numbers].into_iter().flatten().map(Value::Array).collect()
}

fn type_in_words(default: &Value) -> &'static str {
    match default {
        Value::String(_) => "text",
        Value::Integer(_) => "a whole number",
        Value::Float(_) => "a number",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date and time",
        Value::Array(_) => "a list, parted by commas",
        Value::Table(_) => "a table, each key a variable of its own",
    }
}
