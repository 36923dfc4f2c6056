//! Counts what a text consists of.

use std::collections::BTreeMap;
use std::future::ready;

use cynode_wire::tool_calls::{TextStatistics, ToolCall as _};
use serde_json::{Value, json};

use crate::{NetworkUse, ToolHandler, parse_inputs};

/// The number of words that are listed.
const FREQUENT_WORDS: usize = 10;

pub(super) const HANDLER: ToolHandler = ToolHandler {
    name: TextStatistics::NAME,
    title: "Text statistics",
    description: "Counts the characters, words, sentences and lines of a text, and its most frequent words.",
    parameters: TextStatistics::input_schema,
    results: &["characters", "words", "sentences", "lines", "frequent_words"],
    network: NetworkUse::None,
    run: |inputs, _| Box::pin(ready(parse_inputs(inputs).map(run))),
};

fn run(inputs: TextStatistics) -> Value {
    let TextStatistics { text } = inputs;
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric() && c != '\'')
        .map(|word| word.trim_matches('\'').to_lowercase())
        .filter(|word| !word.is_empty())
        .collect();
    let ends = |part: &&str| part.chars().any(char::is_alphanumeric);
    let sentences = text.split(['.', '!', '?', '\n']).filter(ends).count();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for word in &words {
        *counts.entry(word).or_default() += 1;
    }
    let mut frequent: Vec<(&str, usize)> = counts.into_iter().collect();
    frequent.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let frequent: Vec<Value> = frequent
        .into_iter()
        .take(FREQUENT_WORDS)
        .map(|(word, count)| json!({ "word": word, "count": count }))
        .collect();
    json!({
        "characters": text.chars().count(),
        "words": words.len(),
        "sentences": sentences,
        "lines": text.lines().count(),
        "frequent_words": frequent,
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::call;
    use super::*;

    #[tokio::test]
    async fn words_sentences_and_lines_are_counted_in_any_script() {
        let text = "Größe zählt. größe!\nDon't count 日本";
        let counted = call("text.statistics", json!({ "text": text })).await.unwrap();

        assert_eq!((&counted["words"], &counted["lines"]), (&json!(6), &json!(2)));
        assert_eq!(counted["sentences"], 3);
        assert_eq!(counted["frequent_words"][0], json!({ "word": "größe", "count": 2 }));
    }
}
