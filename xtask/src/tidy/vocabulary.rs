//! Names and comments that `docs/glossary.md` rules out, as far as text shows them reliably: retired identifiers, type
//! names that several crates define, and doc comments that only repeat a name.

use std::collections::{BTreeMap, BTreeSet};

use super::TidyFindings;
use crate::fault::Fault;

/// Type names that were replaced. Each meant something else in every crate that had it.
const RETIRED_TYPES: &[&str] = &[
    "Answered", "Asked", "Errand", "Found", "Heard", "Judged", "Kept", "Knock", "Known", "Made",
    "Moved", "Place", "Said", "Seat", "Seen", "Site", "Standing", "Tab", "Told", "Visitor",
    "Wanted", "Way", "Written",
];
/// Function names that say nothing about what the function does.
const RETIRED_FUNCTIONS: &[&str] =
    &["asked", "kept", "look", "nobody", "of", "said", "somebody", "told"];
/// Type names that every program or every trait implementation may define.
const COMMON_TYPES: &[&str] =
    &["Cli", "Command", "Err", "Error", "Output", "Input", "Item", "Future"];
/// Comments here are descriptions of the API, which every field has.
const API_DESCRIPTIONS: [&str; 2] = ["crates/wire/", "crates/llm-wire/"];
/// A search for a type's name finds at most this many crates.
const MAX_CRATES: usize = 2;

/// The crates that define each type name.
#[derive(Debug, Default)]
pub struct TypeNames(BTreeMap<String, BTreeSet<String>>);

impl TypeNames {
    /// Records the type definitions of one source file.
    pub fn add(&mut self, path: &str, text: &str) {
        let package: Vec<&str> = path.split('/').take(2).collect();
        for name in text.lines().filter_map(defined_type) {
            self.0.entry(name.to_owned()).or_default().insert(package.join("/"));
        }
    }

    /// Reports each name that more than two crates define.
    pub fn check(&self, findings: &mut TidyFindings) {
        for (name, crates) in &self.0 {
            if crates.len() > MAX_CRATES && !COMMON_TYPES.contains(&name.as_str()) {
                let crates: Vec<&str> = crates.iter().map(String::as_str).collect();
                findings.faults.push(Fault::new(
                    crates.join(", "),
                    format!("define a type {name} each"),
                    "name each type after what it holds, so that a search finds one",
                ));
            }
        }
    }
}

/// Words between the visibility and the keyword of a definition.
const QUALIFIERS: &[&str] = &["in", "const", "async"];
const TYPE_KEYWORDS: &[&str] = &["struct", "enum", "trait", "union"];

/// Checks the names and comments of one source file.
pub fn check(path: &str, text: &str, findings: &mut TidyFindings) {
    let mut comment: Option<(usize, &str)> = None;
    for (index, line) in text.lines().enumerate() {
        let name = defined_type(line).filter(|name| RETIRED_TYPES.contains(name));
        let function = defined_function(line).filter(|name| RETIRED_FUNCTIONS.contains(name));
        if let Some(name) = name.or(function) {
            findings.faults.push(Fault::in_line(
                path,
                index + 1,
                format!("defines {name}, which is a retired name"),
                "use a term of docs/glossary.md",
            ));
        }
        let line = line.trim_start();
        if let (Some((line_number, words)), Some(name)) = (comment, field(line))
            && !API_DESCRIPTIONS.iter().any(|folder| path.starts_with(folder))
            && repeats(words, name)
        {
            findings.faults.push(Fault::in_line(
                path,
                line_number,
                format!("only repeats the name of the field {name}"),
                "delete the comment, or say what the name does not",
            ));
        }
        comment = match (line.strip_prefix("///"), comment) {
            (Some(words), None) => Some((index + 1, words.trim())),
            _ => None,
        };
    }
}

/// The name of the type that a line defines.
fn defined_type(line: &str) -> Option<&str> {
    defined_name(line, TYPE_KEYWORDS)
}

/// The name of the function that a line defines.
fn defined_function(line: &str) -> Option<&str> {
    defined_name(line, &["fn"])
}

fn defined_name<'a>(line: &'a str, keywords: &[&str]) -> Option<&'a str> {
    let mut words = line.split_whitespace();
    let mut word = words.next()?;
    while word.starts_with("pub") || QUALIFIERS.contains(&word) {
        word = words.next()?;
    }
    let name = keywords.contains(&word).then(|| words.next()).flatten()?;
    let name = name.split(|c: char| !is_of_a_name(c)).next()?;
    (!name.is_empty()).then_some(name)
}

/// The name of the public field on a line.
fn field(line: &str) -> Option<&str> {
    let (name, _) = line.strip_prefix("pub ")?.split_once(": ")?;
    name.chars().all(is_of_a_name).then_some(name)
}

fn is_of_a_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Whether a comment has no word that the name has not, apart from articles and the like.
fn repeats(comment: &str, name: &str) -> bool {
    const EMPTY_WORDS: &[&str] = &["the", "a", "an", "its", "their", "this", "of", "id"];
    let name: Vec<&str> = name.split('_').collect();
    let words = comment.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut words = words.map(str::to_lowercase).peekable();
    words.peek().is_some()
        && words.all(|word| {
            let word = word.as_str();
            EMPTY_WORDS.contains(&word)
                || name.contains(&word)
                || name.contains(&word.trim_end_matches('s'))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> Vec<String> {
        let mut findings = TidyFindings::default();
        check("crates/x/src/a.rs", text, &mut findings);
        findings.faults.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn retired_names_are_refused_where_they_are_defined() {
        assert_eq!(faults(concat!("pub(crate) struct To", "ld {\n")).len(), 1);
        assert_eq!(faults(concat!("    pub async fn to", "ld<T>(self) {\n")).len(), 1);

        assert!(faults("struct Toll;\nfn retold() {}\nlet told = 1;").is_empty());
    }

    #[test]
    fn a_comment_that_repeats_its_field_is_refused() {
        assert_eq!(faults("    /// The task.\n    pub task: TaskId,\n").len(), 1);
        assert_eq!(faults("    /// Its job id.\n    pub job_id: JobId,\n").len(), 1);

        assert!(faults("    /// The task, if it is open.\n    pub task: TaskId,\n").is_empty());
        assert!(faults("    /// In milliseconds.\n    pub duration: u32,\n").is_empty());
        assert!(
            faults("    /// The task.\n    /// It is open.\n    pub task: TaskId,\n").is_empty()
        );
    }

    #[test]
    fn a_type_name_may_be_defined_in_two_crates() {
        let mut names = TypeNames::default();
        for path in ["crates/a/src/x.rs", "crates/a/src/y.rs", "crates/b/src/x.rs"] {
            names.add(path, "pub struct Lease {\npub enum Cli {\n");
        }
        let mut two = TidyFindings::default();
        names.check(&mut two);
        names.add("apps/c/src/main.rs", "struct Lease;\nenum Cli {\n");
        let mut three = TidyFindings::default();
        names.check(&mut three);

        assert!(two.faults.is_empty(), "{two:?}");
        assert_eq!(three.faults.len(), 1, "{three:?}");
    }
}
