//! How the layers of one section become one value.
//!
//! Every entry of every layer is tried alone against the section's type, so that each wrong one is
//! named with the place that set it; what passes is laid over the weaker layers.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::env;
use super::faults::{Complaint, Fault, Faults};
use super::{SECTIONS, Section, Sources};

/// Reads one section, or says everything that is wrong with it.
pub(super) fn section<S: Section>(sources: &Sources) -> Result<S, Faults> {
    let file = sources.read_file()?;
    let mut faults = Faults::default();
    faults.extend(unknown_sections(sources, &file));

    let mut merged = Merged::default();
    for entry in env::entries::<S>(&sources.env) {
        match entry {
            Ok(entry) => faults.extend(merged.lay::<S>(entry)),
            Err(complaint) => faults.push(complaint),
        }
    }
    match file_entries::<S>(sources, file) {
        Ok(entries) => entries.into_iter().for_each(|entry| faults.extend(merged.lay::<S>(entry))),
        Err(complaint) => faults.push(complaint),
    }
    for entry in flag_entries::<S>(&sources.flags) {
        faults.extend(merged.lay::<S>(entry));
    }

    let value = faults.keep(merged.finish::<S>());
    match value {
        Some(value) if faults.is_empty() => Ok(value),
        _ => Err(faults),
    }
}

/// One value that a layer sets.
pub(super) struct Entry {
    /// The key, and below a table its keys.
    pub(super) path: Vec<String>,
    pub(super) value: Value,
    /// Where it was set, in words.
    pub(super) origin: String,
}

/// What the layers so far amount to.
#[derive(Default)]
struct Merged {
    table: Table,
    origins: BTreeMap<String, String>,
}

impl Merged {
    /// Lays an entry over the weaker ones, unless it is wrong.
    fn lay<S: Section>(&mut self, entry: Entry) -> Vec<Complaint> {
        let complaints = complaints::<S>(&entry);
        if complaints.is_empty() {
            note_origins(&mut self.origins, &entry.path, &entry.value, &entry.origin);
            overlay(&mut self.table, wrapped(&entry.path, entry.value));
        }
        complaints
    }

    fn finish<S: Section>(self) -> Result<S, Faults> {
        let value: S = self.table.try_into().map_err(|error: toml::de::Error| {
            let fault = Fault::new(S::NAME, "not usable as a whole", error.message());
            Faults::from(Complaint::Value { fault, origin: None })
        })?;
        let mut faults = Faults::default();
        faults.extend(value.faults().into_iter().map(|fault| {
            let path = fault.key.strip_prefix(S::NAME).map(|key| key.trim_start_matches('.'));
            let origin = path.and_then(|path| self.origins.get(path)).cloned();
            Complaint::Value { fault, origin }
        }));
        if faults.is_empty() { Ok(value) } else { Err(faults) }
    }
}

/// What the section's type says to this entry alone; for a table, to each of its entries.
fn complaints<S: Section>(entry: &Entry) -> Vec<Complaint> {
    let Err(message) = try_alone::<S>(&entry.path, &entry.value) else {
        return Vec::new();
    };
    let whole = complaint(S::NAME, entry, &message);
    if matches!(whole, Complaint::UnknownKey { .. }) && is_unknown(&message, entry.path.last()) {
        return vec![whole];
    }
    let inner: Vec<Complaint> = entry.value.as_table().map_or_else(Vec::new, |table| {
        table
            .iter()
            .flat_map(|(key, value)| {
                complaints::<S>(&Entry {
                    path: entry.path.iter().chain([key]).cloned().collect(),
                    value: value.clone(),
                    origin: entry.origin.clone(),
                })
            })
            .collect()
    });
    if inner.is_empty() { vec![whole] } else { inner }
}

/// Whether the section's type accepts this value when nothing else is set; else its words.
pub(super) fn try_alone<S: Section>(path: &[String], value: &Value) -> Result<(), String> {
    match wrapped(path, value.clone()).try_into::<S>() {
        Ok(_) => Ok(()),
        Err(error) => Err(error.message().to_owned()),
    }
}

fn complaint(section: &str, entry: &Entry, message: &str) -> Complaint {
    let key = format!("{section}.{}", entry.path.join("."));
    let value = entry.value.to_string();
    let origin = entry.origin.clone();
    let expected = message.rsplit_once("expected ").map(|(_, expected)| expected);
    if message.starts_with("unknown field") {
        let known = expected.unwrap_or("none");
        let known =
            known.strip_prefix("one of ").unwrap_or(known).replace('`', "").replace(" or ", ", ");
        return Complaint::UnknownKey { key, value, known, origin };
    }
    let allowed = expected.map_or_else(|| message.to_owned(), in_words);
    Complaint::Value { fault: Fault { key, value, allowed }, origin: Some(origin) }
}

fn is_unknown(message: &str, key: Option<&String>) -> bool {
    key.is_some_and(|key| message.starts_with(&format!("unknown field `{key}`")))
}

/// What a Rust type allows, in words for people who set values.
fn in_words(expected: &str) -> String {
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

fn unknown_sections(sources: &Sources, file: &Table) -> Vec<Complaint> {
    let complaint =
        |name: &str, origin: String| Complaint::UnknownSection { name: name.to_owned(), origin };
    let is_unknown = |name: &&str| !SECTIONS.contains(name);
    let in_file = file.keys().map(String::as_str).filter(is_unknown);
    let in_file = in_file.map(|name| complaint(name, file_origin(sources)));
    let in_env = sources.env.keys().filter_map(|variable| {
        let (section, _) = env::section_and_key(variable)?;
        is_unknown(&section.as_str()).then(|| complaint(&section, variable.clone()))
    });
    in_file.chain(in_env).collect()
}

fn file_origin(sources: &Sources) -> String {
    let path = sources.file.as_ref();
    path.map_or_else(String::new, |path| path.display().to_string())
}

fn file_entries<S: Section>(sources: &Sources, mut file: Table) -> Result<Vec<Entry>, Complaint> {
    let origin = file_origin(sources);
    match file.remove(S::NAME) {
        None => Ok(Vec::new()),
        Some(Value::Table(table)) => Ok(entries(table, &origin)),
        Some(other) => Err(Complaint::Value {
            fault: Fault::new(S::NAME, other, format!("a section, written [{}]", S::NAME)),
            origin: Some(origin),
        }),
    }
}

fn flag_entries<S: Section>(flags: &Table) -> Vec<Entry> {
    let (mine, loose) = flags
        .iter()
        .filter(|(key, value)| key.as_str() == S::NAME || !is_section(key, value))
        .partition::<Vec<_>, _>(|(key, value)| is_section(key, value));
    let loose = loose.into_iter().filter(|(key, value)| {
        let path = [(*key).clone()];
        let tried = try_alone::<S>(&path, value);
        !matches!(tried, Err(message) if is_unknown(&message, path.last()))
    });
    let mine = mine.into_iter().filter_map(|(_, value)| value.as_table()).flatten();
    mine.chain(loose).map(|(key, value)| flag_entry(key, value)).collect()
}

fn is_section(key: &str, value: &Value) -> bool {
    value.is_table() && SECTIONS.contains(&key)
}

fn flag_entry(key: &str, value: &Value) -> Entry {
    Entry {
        path: vec![key.to_owned()],
        value: value.clone(),
        origin: format!("--{}", key.replace('_', "-")),
    }
}

fn entries(table: Table, origin: &str) -> Vec<Entry> {
    let entry = |(key, value)| Entry { path: vec![key], value, origin: origin.to_owned() };
    table.into_iter().map(entry).collect()
}

fn wrapped(path: &[String], value: Value) -> Table {
    let Some((first, rest)) = path.split_first() else {
        return Table::new();
    };
    let value = match rest {
        [] => value,
        rest => Value::Table(wrapped(rest, value)),
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

fn note_origins(
    origins: &mut BTreeMap<String, String>,
    path: &[String],
    value: &Value,
    origin: &str,
) {
    origins.insert(path.join("."), origin.to_owned());
    for (key, value) in value.as_table().into_iter().flatten() {
        let path: Vec<String> = path.iter().chain([key]).cloned().collect();
        note_origins(origins, &path, value, origin);
    }
}
