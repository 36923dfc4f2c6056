//! Tests of secrets in complete and streamed answers.

use cynode_llm_wire::openai::{AssistantMessage, Choice, Delta, ToolCall};
use proptest::prelude::*;
use serde_json::json;

use super::*;

// Assembled at run time, so that no scanner takes this file for a leak.
fn key() -> String {
    format!("sk-{}", "a1B2c3D4e5F6g7H8i9J0")
}

fn redact_chunks(chunks: &[&str]) -> String {
    let mut scanner = StreamRedactor::default();
    let mut said = String::new();
    for chunk in chunks {
        let mut chunk = ChatChunk::new(Delta::text(*chunk), None);
        scanner.push(&mut chunk);
        said.push_str(chunk.text());
    }
    let mut last = ChatChunk::new(Delta::default(), Some("stop".to_owned()));
    scanner.push(&mut last);
    said + last.text()
}

#[test]
fn a_secret_that_comes_in_pieces_is_taken_out() {
    let key = key();
    for cut in 1..key.len() {
        let (a, b) = key.split_at(cut);
        let said = redact_chunks(&["use ", a, b, " please"]);

        assert!(!said.contains(&key[3..]), "{cut}: {said}");
        assert!(said.ends_with("SECRET_REDACTED please"), "{cut}: {said}");
    }
}

#[test]
fn a_secret_that_its_name_gives_away_is_taken_out_across_pieces() {
    let said = redact_chunks(&["db_pass", "word=", "hun", "ter2", "hunter2", "\n", "next"]);

    assert_eq!(said, "db_password=SECRET_REDACTED\nnext");
}

#[test]
fn a_private_key_is_taken_out_line_by_line() {
    let begin = format!("-----BEGIN {} KEY-----\n", "PRIVATE");
    let end = format!("-----END {} KEY-----\nbye", "PRIVATE");
    let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n";
    let mut chunks = vec![&*begin];
    chunks.extend(std::iter::repeat_n(line, 60));
    chunks.push(&end);

    let said = redact_chunks(&chunks);

    assert!(!said.contains("MII"), "{said}");
    assert!(said.ends_with("KEY-----\nbye"), "{said}");
}

#[test]
fn words_are_given_out_as_they_come() {
    let mut scanner = StreamRedactor::default();
    let mut chunk = ChatChunk::new(Delta::text("Hello"), None);

    scanner.push(&mut chunk);

    assert_eq!(chunk.text(), "Hello");
}

fn tokens_of(words: &[&str]) -> Value {
    let entries: Vec<_> = words.iter().map(|word| json!({ "token": word })).collect();
    json!({ "content": entries })
}

#[test]
fn tokens_of_a_whole_answer_with_a_secret_are_not_given_out() {
    let (key, other) = (key(), "a plain word");
    let answer = |text: &str| {
        let content = Some(text.to_owned());
        let message = AssistantMessage { content, ..AssistantMessage::default() };
        let mut choice = Choice { message, ..Choice::default() };
        let (a, b) = text.split_at(5);
        choice.other.insert(LOGPROBS.to_owned(), tokens_of(&[a, b]));
        ChatCompletion { choices: vec![choice], ..ChatCompletion::default() }
    };
    let (mut secret, mut plain) = (answer(&key), answer(other));

    redact_completion(&mut secret);
    redact_completion(&mut plain);

    assert!(!secret.choices[0].other.contains_key(LOGPROBS));
    assert_eq!(plain.choices[0].other[LOGPROBS], tokens_of(&["a pla", "in word"]));
}

#[test]
fn tokens_of_a_stream_come_at_its_end_and_not_with_a_secret() {
    let key = key();
    for (words, is_given) in [([&key[..5], &key[5..]], false), (["a pla", "in word"], true)] {
        let mut scanner = StreamRedactor::default();
        for word in words {
            let mut chunk = ChatChunk::new(Delta::text(word), None);
            chunk.choices[0].other.insert(LOGPROBS.to_owned(), tokens_of(&[word]));
            scanner.push(&mut chunk);
            assert!(!chunk.choices[0].other.contains_key(LOGPROBS));
        }
        let mut last = ChatChunk::new(Delta::default(), Some("stop".to_owned()));
        scanner.push(&mut last);

        let given = last.choices[0].other.get(LOGPROBS);
        assert_eq!(given, is_given.then(|| tokens_of(&words)).as_ref(), "{words:?}");
    }
}

#[test]
fn what_was_held_back_comes_when_the_answer_breaks_off() {
    let mut scanner = StreamRedactor::default();
    let mut chunk = ChatChunk::new(Delta::text("see https://example.com/a"), None);
    scanner.push(&mut chunk);
    assert_eq!(chunk.text(), "see ");

    let rest = scanner.finish(&chunk).unwrap();

    assert_eq!(rest.text(), "https://example.com/a");
    assert_eq!(scanner.finish(&chunk), None);
}

#[test]
fn secrets_in_arguments_and_reasoning_are_taken_out_too() {
    let (key, mut scanner) = (key(), StreamRedactor::default());
    let call = |arguments: &str| {
        let function = FunctionDelta { name: None, arguments: Some(arguments.to_owned()) };
        ToolCallDelta { index: 1, function: Some(function), ..ToolCallDelta::default() }
    };
    let (a, b) = key.split_at(9);
    let mut reported = String::new();
    for chunk in [a, b] {
        let mut delta = Delta { tool_calls: vec![call(chunk)], ..Delta::default() };
        delta.other.insert("reasoning_content".to_owned(), json!(chunk));
        let mut chunk = ChatChunk::new(delta, None);
        scanner.push(&mut chunk);
        reported += &serde_json::to_string(&chunk).unwrap();
    }
    let mut last = ChatChunk::new(Delta::default(), Some("tool_calls".to_owned()));
    scanner.push(&mut last);
    reported += &serde_json::to_string(&last).unwrap();

    assert!(!reported.contains(&key[9..]), "{reported}");
    assert_eq!(reported.matches("SECRET_REDACTED").count(), 2, "{reported}");
}

#[test]
fn a_whole_answer_is_cleaned_everywhere() {
    let key = key();
    let mut message = AssistantMessage {
        content: Some(format!("use {key}")),
        tool_calls: vec![ToolCall::function("1", "f", json!({ "a": key }).to_string())],
        ..AssistantMessage::default()
    };
    message.other.insert("reasoning".to_owned(), json!([{ "text": key }]));
    let choice = Choice { message, ..Choice::default() };
    let mut answer = ChatCompletion { choices: vec![choice], ..ChatCompletion::default() };

    redact_completion(&mut answer);

    let reported = serde_json::to_string(&answer).unwrap();
    assert!(!reported.contains(&key), "{reported}");
    assert_eq!(reported.matches("SECRET_REDACTED").count(), 3, "{reported}");
}

proptest! {
    // Each case scans its text once per chunk.
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn text_without_secrets_comes_through_unchanged_however_it_is_cut(
        chunks in prop::collection::vec("[a-zA-Z ,.äß\n(){}]{0,12}", 0..60)
    ) {
        let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
        let whole = chunks.concat();
        prop_assume!(redact_text(&whole) == whole);

        prop_assert_eq!(redact_chunks(&chunks), whole);
    }

    #[test]
    fn no_way_of_cutting_lets_a_secret_through(
        before in "[a-z ,.]{0,700}",
        cuts in prop::collection::vec(1_usize..9, 1..300),
    ) {
        let key = key();
        let whole = format!("{before} {key} and then");
        let (mut rest, mut chunks) = (&*whole, vec![]);
        for cut in cuts.into_iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (chunk, more) = rest.split_at(cut.min(rest.len()));
            chunks.push(chunk);
            rest = more;
        }

        let said = redact_chunks(&chunks);

        prop_assert!(!said.contains(&key[3 + EARLY_LETTERS..]), "{}", said);
    }
}
