//! The statements of a text that say what is wanted.

use super::classify::{has_request, has_strong_defect, opens_with_verb};
use super::phrases::{contains_any, match_start, split_words};
use super::reading::{Reading, Section, Sentence};

/// Words of a demand.
const DEMANDS: &str = "should | shouldn't | must | mustn't | shall | needs to be | need to be | make sure | ensure | \
    is expected to | are expected to | soll | sollen | muss | müssen | doit | doivent | debe | deben";
/// What follows a verb that begins a demand of its own.
const OBJECTS: &str =
    "a | an | the | its | all | every | each | it | them | this | these | no | namex";
/// A shorter line is not wrapped.
const MIN_WRAPPED_CHARS: usize = 40;

/// What a text asks for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RequestedStatements {
    /// The list items, in the order of the text.
    pub(crate) items: Vec<String>,
    /// The first sentence; absent if it is the heading of statements that say more.
    pub(crate) title: Option<String>,
    /// The sentences after the title that demand something.
    pub(crate) demands: Vec<String>,
}

/// Finds what a text asks for. Code, quotations, comments, steps of a reproduction and text about its own classification ask for nothing.
pub(crate) fn find_requested(text: &str) -> RequestedStatements {
    let reading = Reading::parse(&join_wrapped_lines(text));
    let mut items: Vec<(usize, String)> = vec![];
    for item in reading.requirements() {
        match items.last_mut() {
            Some((line, known)) if *line == item.line => {
                known.push(' ');
                known.push_str(&item.text);
            }
            _ => items.push((item.line, item.text.clone())),
        }
    }
    let title = reading.title();
    let is_stated = |sentence: &&Sentence| {
        !sentence.is_item && (sentence.section.is_main() || sentence.section == Section::Expected)
    };
    let body: Vec<&Sentence> = reading.body().filter(is_stated).collect();
    let demands: Vec<&Sentence> = body.iter().copied().filter(|one| is_demand(one)).collect();
    let is_named = |title: &Sentence| !is_demand(title) && !has_strong_defect(&title.words);
    let is_heading = text.trim_start().starts_with('#') && title.is_some_and(is_named);
    let (title, stated) = if demands.is_empty() && is_heading && !body.is_empty() {
        (None, body)
    } else {
        (title, demands)
    };
    RequestedStatements {
        items: items.into_iter().map(|(_, item)| item).collect(),
        title: title.map(|title| title.text.clone()),
        demands: stated.iter().map(|sentence| sentence.text.clone()).collect(),
    }
}

/// Splits "add a button and remove the menu" into its demands.
pub(crate) fn split_demands(sentence: &str) -> Vec<String> {
    let mut parts = vec![];
    let mut start = 0;
    if opens_with_verb(&split_words(sentence)) {
        for (position, mark) in sentence.match_indices(" and ") {
            let words = split_words(&sentence[position + mark.len()..]);
            let has_object =
                words.get(1..).is_some_and(|rest| match_start(rest, OBJECTS).is_some());
            if has_object && opens_with_verb(&words) {
                parts.push(sentence[start..position].trim_end_matches([',', ' ']).to_owned());
                start = position + mark.len();
            }
        }
    }
    parts.push(sentence[start..].to_owned());
    parts
}

fn is_demand(sentence: &Sentence) -> bool {
    has_request(sentence) || contains_any(&sentence.words, DEMANDS)
}

/// Joins the lines of paragraphs and list items that an editor wrapped.
fn join_wrapped_lines(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    let (mut is_code, mut last_chars) = (false, 0);
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
        let is_continued = !is_code
            && !is_fence
            && last_chars >= MIN_WRAPPED_CHARS
            && line.trim_start().starts_with(char::is_alphanumeric)
            && !line.trim_start().starts_with(|c: char| c.is_ascii_digit())
            && !joined.trim_end().ends_with(['.', '!', '?', ':', ';']);
        if is_continued {
            joined.push(' ');
            joined.push_str(line.trim());
        } else {
            if !joined.is_empty() {
                joined.push('\n');
            }
            joined.push_str(line);
        }
        is_code ^= is_fence;
        // A heading ends with its line.
        let is_joinable =
            !is_code && !is_fence && !line.trim_start().starts_with(['#', '>', '|', '<']);
        last_chars = if is_joinable { line.chars().count() } else { 0 };
    }
    joined
}
