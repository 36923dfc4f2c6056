//! Several requests in one text.
//!
//! Two parts are separate requests only if a mark separates them (a list without a common title, a word such as "separately"),
//! each is a request of its own, one corrects and another does not, and they name no common thing. After a weak mark such as
//! "also", a part must not refer to the one before.

use std::collections::BTreeSet;

use cynode_domain::work_kind::WorkKind;

use crate::intake::classify::{classify, has_request, has_strong_defect};
use crate::intake::phrases::{contains_any, find_any, match_start, split_words};
use crate::intake::reading::{Reading, Sentence};
use crate::intake::{Submission, reading::Section};

/// The most characters of a request in the fault.
const MAX_REQUEST_CHARS: usize = 200;
/// The shortest word that names a thing.
const MIN_THING_CHARS: usize = 4;

/// Words that announce another request; what precedes and follows them must differ in kind.
const SEPARATORS: &str = "also | additionally | in addition | besides that | separately | unrelated | on a different note | \
    on another note | another thing | second request | second | by the way | and also | apart from that | completely separate | \
    par ailleurs | außerdem | zudem | además | en outre | secondly | please | could you also | 2 | 3";
/// Words that say that the next request has nothing to do with the one before.
const STRONG_SEPARATORS: &str = "separately | unrelated | on a different note | on another note | completely separate | \
    second request | par ailleurs | apart from that | unabhängig davon";
/// Introductions that announce several requests.
const ANNOUNCEMENTS: &str = "unrelated things | several things | two things | three things | a few things | some things | \
    the following | couple of things | mehrere dinge | zwei dinge | plusieurs choses | varias cosas | first request | \
    different things | todo list | my list | unrelated requests";
/// Words that refer to the request before.
const REFERENCES: &str = "it | them | this | that | these | those | accordingly | test | tests | docs | documentation | changelog | \
    regression test | same | too afterwards | then";
/// Words that name no thing.
const NO_THINGS: &str = "with | from | that | this | have | page | when | what | which | where | please | could | would | should | \
    create | build | write | update | remove | change | support | implement | into | also | there | their | they | your | ours | \
    them | since | after | before | because | some | more | make | only | than | then | each | every | fails | failing | broken | \
    crash | error | wrong | request | first | second | thing | things | show | shows | need | needs | namex";

/// Finds the separate requests of a text; fewer than two if it is one request.
pub(super) fn find_requests(reading: &Reading) -> Vec<String> {
    if reading
        .sections
        .iter()
        .any(|section| !matches!(section, Section::Plain | Section::Environment))
    {
        return vec![];
    }
    let is_marked = reading.sentences.iter().any(|sentence| {
        contains_any(&sentence.words, STRONG_SEPARATORS)
            || contains_any(&sentence.words, ANNOUNCEMENTS)
    });
    [(split_list(reading), true), (split_blocks(reading), true), (split_prose(reading), is_marked)]
        .into_iter()
        .find(|(requests, is_marked)| are_separate(requests, *is_marked))
        .map(|(requests, _)| requests)
        .unwrap_or_default()
        .into_iter()
        .map(|request| request.chars().take(MAX_REQUEST_CHARS).collect())
        .collect()
}

/// The items of a list that has no title of its own, or one that announces several requests.
fn split_list(reading: &Reading) -> Vec<String> {
    let is_announced = |sentence: &Sentence| {
        contains_any(&sentence.words, ANNOUNCEMENTS)
            || match_start(&sentence.words, "todo | tasks").is_some()
    };
    let mut items = vec![];
    for sentence in &reading.sentences {
        if sentence.is_item && sentence.section == Section::Plain {
            items.push(sentence.text.clone());
        } else if !is_announced(sentence) {
            return vec![];
        }
    }
    if !reading.headings.is_empty()
        && !reading.headings.iter().all(|heading| contains_any(heading, ANNOUNCEMENTS))
    {
        return vec![];
    }
    items
}

/// The parts under headings, or paragraphs that begin with different prefixes of commits.
fn split_blocks(reading: &Reading) -> Vec<String> {
    let mut blocks: Vec<String> = vec![];
    let mut last_line = None;
    for sentence in &reading.sentences {
        if sentence.is_item {
            return vec![];
        }
        let is_start = last_line.is_none_or(|line| sentence.line > line + 1);
        last_line = Some(sentence.line);
        match blocks.last_mut().filter(|_| !is_start) {
            Some(block) => {
                block.push(' ');
                block.push_str(&sentence.text);
            }
            None => blocks.push(sentence.text.clone()),
        }
    }
    let titles = reading.headings.iter().map(|heading| heading.join(" "));
    let is_request = |text: &String| is_plain_request(text);
    if !reading.headings.is_empty() {
        let mut requests: Vec<String> = blocks.first().cloned().into_iter().collect();
        requests.extend(titles);
        return if requests.iter().all(is_request) { requests } else { vec![] };
    }
    // A paragraph explains the one before, unless a line or a prefix separates them.
    let prefixed = blocks.iter().filter(|block| has_prefix(block)).count();
    let is_separated =
        reading.has_rule || (reading.prefix.is_some() && prefixed + 1 == blocks.len());
    if is_separated && blocks.iter().all(is_request) { blocks } else { vec![] }
}

fn has_prefix(block: &str) -> bool {
    block
        .split_once(": ")
        .is_some_and(|(prefix, _)| matches!(prefix, "fix" | "feat" | "docs" | "chore" | "refactor"))
}

/// The sentences before and after a word that announces another request.
fn split_prose(reading: &Reading) -> Vec<String> {
    let mut requests: Vec<String> = vec![];
    for sentence in reading.sentences.iter().filter(|sentence| !sentence.is_item) {
        for part in split_at_separator(&sentence.text) {
            let words = split_words(part);
            let is_separated = match_start(&words, SEPARATORS).is_some();
            match requests.last_mut().filter(|_| !is_separated) {
                Some(request) => {
                    request.push(' ');
                    request.push_str(part);
                }
                None => requests.push(part.to_owned()),
            }
        }
    }
    requests.iter().map(|request| strip_separator(request)).collect()
}

/// Splits a sentence before "and also", "in addition" and inline numbers.
fn split_at_separator(text: &str) -> Vec<&str> {
    const INLINE: &[&str] = &[
        " and also ",
        ", and in addition",
        ", and could you also",
        ", please ",
        ", also ",
        " 2. ",
        " 2) ",
        " 3. ",
        " 3) ",
    ];
    let mut parts = vec![];
    let mut rest = text;
    // The mark that comes first splits.
    while let Some(position) = INLINE.iter().filter_map(|mark| rest.find(mark)).min() {
        parts.push(&rest[..position]);
        rest = rest[position..].trim_start_matches([',', ' ']);
        rest = rest.strip_prefix("and ").unwrap_or(rest);
    }
    parts.push(rest);
    parts
}

/// Removes the words that announce a request.
fn strip_separator(request: &str) -> String {
    let words = split_words(request);
    let Some(len) = match_start(&words, SEPARATORS) else { return request.to_owned() };
    let mut rest = request;
    for word in &words[..len] {
        let lower = rest.to_lowercase();
        let Some(end) = lower.find(word.as_str()).map(|start| start + word.len()) else { break };
        rest = rest.get(end..).unwrap_or(rest);
    }
    rest.trim_start_matches(|c: char| !c.is_alphanumeric()).to_owned()
}

/// Whether the parts are requests of different kinds about different things.
fn are_separate(parts: &[String], is_marked: bool) -> bool {
    if parts.len() < 2 {
        return false;
    }
    let words: Vec<Vec<String>> = parts.iter().map(|part| split_words(part)).collect();
    let are_requests = parts.iter().all(|part| is_plain_request(part));
    let refers = !is_marked && words.iter().skip(1).any(|words| contains_any(words, REFERENCES));
    let kinds: Vec<WorkKind> = parts.iter().map(|part| kind(part)).collect();
    let corrects =
        kinds.contains(&WorkKind::QuickFix) && kinds.iter().any(|kind| *kind != WorkKind::QuickFix);
    // Features after a new project are requirements of it; a new project after a feature is another request.
    let begins =
        kinds.first() == Some(&WorkKind::FeatureRequest) && kinds.contains(&WorkKind::NewProject);
    let differs = corrects || (is_marked && begins);
    are_requests && differs && !refers && !share_things(&words)
}

fn kind(text: &str) -> WorkKind {
    classify(&Submission { text, labels: &[], is_brief: false }).value
}

fn is_plain_request(text: &str) -> bool {
    let reading = Reading::parse(text);
    reading
        .sentences
        .iter()
        .any(|sentence| has_request(sentence) || has_strong_defect(&sentence.words))
}

fn share_things(parts: &[Vec<String>]) -> bool {
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for words in parts {
        let things: BTreeSet<String> = words
            .iter()
            .filter(|word| word.chars().count() >= MIN_THING_CHARS)
            .filter(|word| find_any(std::slice::from_ref(word), NO_THINGS).is_none())
            .map(|word| word.trim_end_matches('s').to_owned())
            .collect();
        if things.iter().any(|thing| seen.contains(thing)) {
            return true;
        }
        seen.extend(things);
    }
    false
}
