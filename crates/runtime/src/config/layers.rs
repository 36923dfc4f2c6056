//! Merges the layers of one section.
//!
//! Every entry of every layer is validated alone against the section's type, so that each invalid entry is
//! reported with its origin; valid entries override lower layers.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::env;
use super::errors::{ConfigError, ConfigErrors, ConfigFault};
use super::{ConfigSection, ConfigSources, SECTIONS};

/// Loads one section, or returns all of its errors.
pub(super) fn load_section<S: ConfigSection>(sources: &ConfigSources) -> Result<S, ConfigErrors> {
    let file = sources.read_file()?;
    let mut faults = ConfigErrors::default();
    faults.extend(unknown_sections(sources, &file));

    let mut merged = MergedLayers::default();
    for entry in env::env_entries::<S>(&sources.env) {
        match entry {
            Ok(entry) => faults.extend(merged.merge_entry::<S>(entry)),
            Err(complaint) => faults.push(complaint),
        }
    }
    match file_entries::<S>(sources, file) {
        Ok(entries) => {
            for entry in entries {
                faults.extend(merged.merge_entry::<S>(entry));
            }
        }
        Err(complaint) => faults.push(complaint),
    }
    for entry in flag_entries::<S>(&sources.flags) {
        faults.extend(merged.merge_entry::<S>(entry));
    }

    let value = faults.keep(merged.finish::<S>());
    match value {
        Some(value) if faults.is_empty() => Ok(value),
        _ => Err(faults),
    }
}

/// One value that a layer sets.
pub(super) struct ConfigEntry {
    /// The key, and for nested tables the keys below it.
    pub(super) path: Vec<String>,
    pub(super) value: Value,
    /// Where it was set, for people.
    pub(super) origin: String,
}

/// The merged layers so far.
#[derive(Default)]
struct MergedLayers {
    table: Table,
    origins: BTreeMap<String, String>,
}

impl MergedLayers {
    /// Overrides lower layers with an entry, unless it is invalid.
    fn merge_entry<S: ConfigSection>(&mut self, entry: ConfigEntry) -> Vec<ConfigError> {
        let complaints = validate_entry::<S>(&entry);
        if complaints.is_empty() {
            record_origins(&mut self.origins, &entry.path, &entry.value, &entry.origin);
            overlay(&mut self.table, wrap_in_path(&entry.path, entry.value));
        }
        complaints
    }

    fn finish<S: ConfigSection>(self) -> Result<S, ConfigErrors> {
        let value: S = self.table.try_into().map_err(|error: toml::de::Error| {
            let fault = ConfigFault::new(S::NAME, "not usable as a whole", error.message());
            ConfigErrors::from(ConfigError::Value { fault, origin: None })
        })?;
        let mut faults = ConfigErrors::default();
        faults.extend(value.validate().into_iter().map(|fault| {
            let path = fault.key.strip_prefix(S::NAME).map(|key| key.trim_start_matches('.'));
            let origin = path.and_then(|path| self.origins.get(path)).cloned();
            ConfigError::Value { fault, origin }
        }));
        if faults.is_empty() { Ok(value) } else { Err(faults) }
    }
}

/// Validates an entry alone against the section's type; for a table, each of its entries.
fn validate_entry<S: ConfigSection>(entry: &ConfigEntry) -> Vec<ConfigError> {
    let Err(message) = validate_value::<S>(&entry.path, &entry.value) else {
        return Vec::new();
    };
    let whole = entry_error(S::NAME, entry, &message);
    if matches!(whole, ConfigError::UnknownKey { .. }) && is_unknown(&message, entry.path.last()) {
        return vec![whole];
    }
    let inner: Vec<ConfigError> = entry.value.as_table().map_or_else(Vec::new, |table| {
        table
            .iter()
            .flat_map(|(key, value)| {
                validate_entry::<S>(&ConfigEntry {
                    path: entry.path.iter().chain([key]).cloned().collect(),
                    value: value.clone(),
                    origin: entry.origin.clone(),
                })
            })
            .collect()
    });
    if inner.is_empty() { vec![whole] } else { inner }
}

/// Whether the section's type accepts this value when nothing else is set; else the error.
pub(super) fn validate_value<S: ConfigSection>(
    path: &[String],
    value: &Value,
) -> Result<(), String> {
    match wrap_in_path(path, value.clone()).try_into::<S>() {
        Ok(_) => Ok(()),
        Err(error) => Err(error.message().to_owned()),
    }
}

fn entry_error(section: &str, entry: &ConfigEntry, message: &str) -> ConfigError {
    let key = format!("{section}.{}", entry.path.join("."));
    let value = entry.value.to_string();
    let origin = entry.origin.clone();
    let expected = message.rsplit_once("expected ").map(|(_, expected)| expected);
    if message.starts_with("unknown field") {
        let known = expected.unwrap_or("none");
        let known =
            known.strip_prefix("one of ").unwrap_or(known).replace('`', "").replace(" or ", ", ");
        return ConfigError::UnknownKey { key, value, known, origin };
    }
    let allowed = expected.map_or_else(|| message.to_owned(), describe_expected);
    ConfigError::Value { fault: ConfigFault { key, value, allowed }, origin: Some(origin) }
}

fn is_unknown(message: &str, key: Option<&String>) -> bool {
    key.is_some_and(|key| message.starts_with(&format!("unknown field `{key}`")))
}

/// Describes the values of a Rust type for people.
fn describe_expected(expected: &str) -> String {
    match expected.trim_end() {
        "u8" => "a whole number from 0 to 255".to_owned(),
        "u16" => "a whole number from 0 to 65535".to_owned(),
        "u32" => "a whole number from 0 to 4294967295".to_owned(),
        "u64" | "u128" | "usize" => "a whole number from 0".to_owned(),
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => "a whole number".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a sequence" => "a list".to_owned(),
        other => other.replace('`', ""),
    }
}

fn unknown_sections(sources: &ConfigSources, file: &Table) -> Vec<ConfigError> {
    let complaint =
        |name: &str, origin: String| ConfigError::UnknownSection { name: name.to_owned(), origin };
    let is_unknown = |name: &&str| !SECTIONS.contains(name);
    let in_file = file.keys().map(String::as_str).filter(is_unknown);
    let in_file = in_file.map(|name| complaint(name, file_origin(sources)));
    let in_env = sources.env.keys().filter_map(|variable| {
        let (section, _) = env::section_and_key(variable)?;
        is_unknown(&section.as_str()).then(|| complaint(&section, variable.clone()))
    });
    in_file.chain(in_env).collect()
}

fn file_origin(sources: &ConfigSources) -> String {
    let path = sources.file.as_ref();
    path.map_or_else(String::new, |path| path.display().to_string())
}

fn file_entries<S: ConfigSection>(
    sources: &ConfigSources,
    mut file: Table,
) -> Result<Vec<ConfigEntry>, ConfigError> {
    let origin = file_origin(sources);
    match file.remove(S::NAME) {
        None => Ok(Vec::new()),
        Some(Value::Table(table)) => Ok(table_entries(table, &origin)),
        Some(other) => Err(ConfigError::Value {
            fault: ConfigFault::new(S::NAME, other, format!("a section, written [{}]", S::NAME)),
            origin: Some(origin),
        }),
    }
}

fn flag_entries<S: ConfigSection>(flags: &Table) -> Vec<ConfigEntry> {
    let (mine, loose) = flags
        .iter()
        .filter(|(key, value)| key.as_str() == S::NAME || !is_section(key, value))
        .partition::<Vec<_>, _>(|(key, value)| is_section(key, value));
    let loose = loose.into_iter().filter(|(key, value)| {
        let path = [(*key).clone()];
        let tried = validate_value::<S>(&path, value);
        !matches!(tried, Err(message) if is_unknown(&message, path.last()))
    });
    let mine = mine.into_iter().filter_map(|(_, value)| value.as_table()).flatten();
    mine.chain(loose).map(|(key, value)| flag_entry(key, value)).collect()
}

fn is_section(key: &str, value: &Value) -> bool {
    value.is_table() && SECTIONS.contains(&key)
}

fn flag_entry(key: &str, value: &Value) -> ConfigEntry {
    ConfigEntry {
        path: vec![key.to_owned()],
        value: value.clone(),
        origin: format!("--{}", key.replace('_', "-")),
    }
}

fn table_entries(table: Table, origin: &str) -> Vec<ConfigEntry> {
    let entry = |(key, value)| ConfigEntry { path: vec![key], value, origin: origin.to_owned() };
    table.into_iter().map(entry).collect()
}

fn wrap_in_path(path: &[String], value: Value) -> Table {
    let Some((first, rest)) = path.split_first() else {
        return Table::new();
    };
    let value = match rest {
        [] => value,
        rest => Value::Table(wrap_in_path(rest, value)),
    };
    Table::from_iter([(first.clone(), value)])
}

fn overlay(below: &mut Table, above: Table) {
    for (key, value) in above {
        match (below.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => overlay(below, above),
            (_, value) => drop(below.insert(key, value)),
        }
    }
}

fn record_origins(
    origins: &mut BTreeMap<String, String>,
    path: &[String],
    value: &Value,
    origin: &str,
) {
    origins.insert(path.join("."), origin.to_owned());
    for (key, value) in value.as_table().into_iter().flatten() {
        let path: Vec<String> = path.iter().chain([key]).cloned().collect();
        record_origins(origins, &path, value, origin);
    }
}
