//! Recognises an answer that repeats itself without an end, as small models write under a grammar.

use cynode_llm_wire::openai::ChatChunk;

/// Bytes at the end of an answer that are examined.
const WINDOW_BYTES: usize = 2_000;
/// The longest text whose repetition is recognised.
const MAX_PERIOD_BYTES: usize = 100;
/// New bytes between two examinations.
const EXAMINE_EVERY_BYTES: usize = 200;

/// Watches the end of a streamed answer.
#[derive(Debug, Default)]
pub(crate) struct RepetitionGuard {
    tail: Vec<u8>,
    new_bytes: usize,
}

impl RepetitionGuard {
    /// Adds a chunk; returns whether the answer only repeats itself.
    pub(crate) fn is_repeating(&mut self, chunk: &ChatChunk) -> bool {
        self.push(chunk.text());
        let calls = chunk.choices.iter().flat_map(|choice| &choice.delta.tool_calls);
        for function in calls.filter_map(|call| call.function.as_ref()) {
            self.push(function.arguments.as_deref().unwrap_or_default());
        }
        if self.new_bytes < EXAMINE_EVERY_BYTES || self.tail.len() < WINDOW_BYTES {
            return false;
        }
        self.new_bytes = 0;
        let excess = self.tail.len() - WINDOW_BYTES;
        self.tail.drain(..excess);
        (1..=MAX_PERIOD_BYTES)
            .any(|period| self.tail[period..] == self.tail[..WINDOW_BYTES - period])
    }

    fn push(&mut self, text: &str) {
        self.tail.extend_from_slice(text.as_bytes());
        self.new_bytes += text.len();
    }
}

#[cfg(test)]
mod tests {
    use cynode_llm_wire::openai::Delta;

    use super::*;

    fn is_repeating(pieces: impl IntoIterator<Item = String>) -> bool {
        let mut guard = RepetitionGuard::default();
        pieces.into_iter().any(|text| guard.is_repeating(&ChatChunk::new(Delta::text(text), None)))
    }

    #[test]
    fn endless_repetition_is_recognised() {
        assert!(is_repeating(std::iter::repeat_n("\n".to_owned(), 3_000)));
        assert!(is_repeating(std::iter::repeat_n("the same sentence, ".to_owned(), 200)));
    }

    #[test]
    fn text_and_short_repetitions_are_not() {
        assert!(!is_repeating((0..2_000).map(|number| format!("line {number}\n"))));
        assert!(!is_repeating(std::iter::repeat_n("-".to_owned(), 1_000)));
    }
}
