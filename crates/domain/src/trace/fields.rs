//! The fields of an event: names of a closed list, and values that cannot hold prose.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

/// The most characters of a word.
const MAX_WORD_CHARS: usize = 120;
/// The most bytes of all words of an event.
const MAX_EVENT_BYTES: usize = 4096;
/// The most words of a list.
const MAX_WORDS: usize = 32;
/// Recorded for text that is no word.
const OMITTED: &str = "[omitted]";

words! {
    /// Name of a field.
    TraceField("field of a trace event") {
        /// The tool that a step calls, or the action of an agent.
        Tool = "tool",
        /// The chosen tools, the best first.
        Tools = "tools",
        /// How many tools there were to choose from.
        Candidates = "candidates",
        /// Similarity of the best choice, in thousandths.
        ScorePermille = "score_permille",
        /// Similarity of each chosen tool, in thousandths and in their order.
        ScoresPermille = "scores_permille",
        /// How many steps a plan has, or an execution performed.
        Steps = "steps",
        /// Code of a result, such as `ok` or `not_found`.
        Outcome = "outcome",
        ExitCode = "exit_code",
        Attempt = "attempt",
        DurationMs = "duration_ms",
        /// Kind of the handoff.
        Handoff = "handoff",
        /// Purpose of a decision.
        Purpose = "purpose",
        /// Which worker of a pool executes it.
        Worker = "worker",
        Model = "model",
        ModelCalls = "model_calls",
        InputTokens = "input_tokens",
        OutputTokens = "output_tokens",
        /// Name of a backend, such as `embedded` or `pgvector`.
        Backend = "backend",
        /// What a backend is for, such as `knowledge` or `tools`.
        BackendPurpose = "backend_purpose",
        /// Code of an error.
        ErrorKind = "error_kind",
        /// SHA-256 of the goal, in hex; the goal itself is not recorded.
        GoalSha256 = "goal_sha256",
    }
}

/// Value of a field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(untagged)]
pub enum TraceValue {
    Number(i64),
    Word(String),
    Words(Vec<String>),
}

/// The fields of an event.
///
/// Invariant: a word has at most 120 characters of printable ASCII and no spaces or `@`; anything else is replaced by
/// `[omitted]`, on this side and when it is read. Sentences, mail addresses, command lines and characters that change how
/// a terminal or a page shows the rest of a line therefore do not pass. The words of an event have 4096 bytes together;
/// a value that does not fit is replaced likewise.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(transparent)]
pub struct TraceFields(BTreeMap<TraceField, TraceValue>);

impl TraceFields {
    pub fn insert(&mut self, field: TraceField, value: impl Into<TraceValue>) {
        let value = bound_value(value.into());
        let others = self.0.iter().filter(|(other, _)| **other != field);
        let used: usize = others.map(|(_, value)| count_bytes(value)).sum();
        let fits = used + count_bytes(&value) <= MAX_EVENT_BYTES;
        self.0.insert(field, if fits { value } else { TraceValue::Word(OMITTED.to_owned()) });
    }

    pub fn get(&self, field: TraceField) -> Option<&TraceValue> {
        self.0.get(&field)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (TraceField, &TraceValue)> {
        self.0.iter().map(|(field, value)| (*field, value))
    }

    /// Replaces every word, for example to redact it. The words that are returned are bounded again.
    #[must_use]
    pub fn map_words(self, map: impl Fn(String) -> String) -> Self {
        let map_value = |value| match value {
            TraceValue::Number(number) => TraceValue::Number(number),
            TraceValue::Word(word) => TraceValue::Word(map(word)),
            TraceValue::Words(words) => TraceValue::Words(words.into_iter().map(&map).collect()),
        };
        self.0.into_iter().map(|(field, value)| (field, map_value(value))).collect()
    }
}

impl FromIterator<(TraceField, TraceValue)> for TraceFields {
    fn from_iter<I: IntoIterator<Item = (TraceField, TraceValue)>>(fields: I) -> Self {
        let mut bounded = Self::default();
        for (field, value) in fields {
            bounded.insert(field, value);
        }
        bounded
    }
}

/// Reads the fields that it knows and leaves the others out: a newer agent may record more.
impl<'de> Deserialize<'de> for TraceFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = BTreeMap::<String, TraceValue>::deserialize(deserializer)?;
        let known = given.into_iter().filter_map(|(name, value)| Some((name.parse().ok()?, value)));
        Ok(known.collect())
    }
}

fn bound_value(value: TraceValue) -> TraceValue {
    match value {
        TraceValue::Number(number) => TraceValue::Number(number),
        TraceValue::Word(word) => TraceValue::Word(bound_word(word)),
        TraceValue::Words(words) => {
            TraceValue::Words(words.into_iter().take(MAX_WORDS).map(bound_word).collect())
        }
    }
}

fn count_bytes(value: &TraceValue) -> usize {
    match value {
        TraceValue::Number(_) => 0,
        TraceValue::Word(word) => word.len(),
        TraceValue::Words(words) => words.iter().map(String::len).sum(),
    }
}

fn bound_word(word: String) -> String {
    let is_word = (1..=MAX_WORD_CHARS).contains(&word.len())
        && word.chars().all(|c| c != '@' && c.is_ascii_graphic());
    if is_word { word } else { OMITTED.to_owned() }
}

impl From<i64> for TraceValue {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for TraceValue {
    fn from(word: &str) -> Self {
        Self::Word(word.to_owned())
    }
}

impl From<String> for TraceValue {
    fn from(word: String) -> Self {
        Self::Word(word)
    }
}

impl From<Vec<String>> for TraceValue {
    fn from(words: Vec<String>) -> Self {
        Self::Words(words)
    }
}

impl From<u32> for TraceValue {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<u64> for TraceValue {
    fn from(number: u64) -> Self {
        Self::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<usize> for TraceValue {
    fn from(number: usize) -> Self {
        Self::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<i32> for TraceValue {
    fn from(number: i32) -> Self {
        Self::Number(number.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_addresses_and_long_text_are_omitted_on_both_sides() {
        let long = "x".repeat(MAX_WORD_CHARS + 1);
        for text in ["rm -rf /", "ada@example.org", "a\nb", "", "a\u{202e}b", "Zoë", long.as_str()]
        {
            let mut fields = TraceFields::default();
            fields.insert(TraceField::Tool, text);
            assert_eq!(fields.get(TraceField::Tool), Some(&TraceValue::from(OMITTED)), "{text:?}");

            let wire = serde_json::json!({ "tool": text, "tools": ["db.task.get", text] });
            let read: TraceFields = serde_json::from_value(wire).unwrap();
            let words = vec!["db.task.get".to_owned(), OMITTED.to_owned()];
            assert_eq!(read.get(TraceField::Tool), Some(&TraceValue::from(OMITTED)), "{text:?}");
            assert_eq!(read.get(TraceField::Tools), Some(&TraceValue::Words(words)), "{text:?}");
        }
    }

    #[test]
    fn unknown_fields_are_left_out_and_lists_are_bounded() {
        let many = vec!["t".to_owned(); MAX_WORDS + 10];
        let wire = serde_json::json!({ "prompt": "secret", "tools": many, "steps": 3 });

        let read: TraceFields = serde_json::from_value(wire).unwrap();

        assert_eq!(read.iter().count(), 2);
        assert_eq!(read.get(TraceField::Steps), Some(&TraceValue::Number(3)));
        let Some(TraceValue::Words(words)) = read.get(TraceField::Tools) else {
            panic!("{read:?}")
        };
        assert_eq!(words.len(), MAX_WORDS);
    }

    #[test]
    fn the_words_of_an_event_are_bounded_together() {
        let many = vec!["t".repeat(MAX_WORD_CHARS); MAX_WORDS];
        let wire = serde_json::json!({
            "tools": many, "tool": many, "model": many, "worker": "w", "backend": many,
        });

        let read: TraceFields = serde_json::from_value(wire).unwrap();

        let size: usize = read.iter().map(|(_, value)| count_bytes(value)).sum();
        assert!(size < MAX_EVENT_BYTES + 10 * OMITTED.len(), "{size}");
        assert_eq!(read.get(TraceField::Model), Some(&TraceValue::from(OMITTED)));
        assert_eq!(read.get(TraceField::Worker), Some(&TraceValue::from("w")));
    }
}
