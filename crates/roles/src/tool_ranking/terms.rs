//! The terms of goals, phrases, names and descriptions.
//!
//! A term is one of: the stem of a word in lower case without marks, the stems of two neighbours (`how much`), a concept
//! that a word stands for (`=cancel`), and what the form of the text shows (`#address`).

use std::collections::{BTreeMap, BTreeSet};
use std::slice;

use super::shapes::{is_address, shapes};
use super::synonyms::concepts_of;

/// Words that say nothing about a tool, as they are written. Words of questions, persons and times do.
const STOP_WORDS: &str = " a all an and any as at but by do for he her him his if in into it its just of one or please she some \
    that the their them then there these they this those to too up while aber alle allen als an auch auf aus \
    bei bin bitte da das dass dem den der des die dies diese dieser durch ein eine einem einen einer eines \
    er es etwas euch fuer hier ihr im in ja kein keine koennen mal man nun ob oder sein seine sich sie ueber \
    um und von vom wenn zu zum zur ";
/// The weight of a concept relative to the word that stands for it.
const CONCEPT_WEIGHT: f64 = 1.0;
/// The weight of a part of a compound.
const PART_WEIGHT: f64 = 0.7;
/// The weight of two neighbours.
const PAIR_WEIGHT: f64 = 0.2;
/// The weight of what the form of a goal shows.
const SHAPE_WEIGHT: f64 = 1.0;
/// The weight of a word that names an object, such as a part of `nightly-build`.
const ARGUMENT_WEIGHT: f64 = 0.5;
/// The shortest part of a compound.
const MIN_PART_CHARS: usize = 4;
/// The most words of a goal that count.
const MAX_WORDS: usize = 400;
/// Segments of names that say nothing about the tool.
const EMPTY_SEGMENTS: [&str; 5] = ["db", "apmas", "cuga", "modular", "tools"];

/// The terms of one word of a goal, with weights; the best of them counts.
pub(super) type TermGroup = BTreeMap<String, f64>;

/// The terms of a goal in groups; `is_known` says whether a tool has the term.
pub(super) fn goal_terms(goal: &str, is_known: impl Fn(&str) -> bool) -> Vec<TermGroup> {
    let mut groups: Vec<TermGroup> = vec![];
    let mut seen = BTreeSet::new();
    for word in goal_words(goal) {
        let term = stem(&word.text);
        if is_stop_word(&word.text) || !seen.insert(term.clone()) {
            continue;
        }
        let weight = if word.names_an_object { ARGUMENT_WEIGHT } else { 1.0 };
        let mut group = TermGroup::new();
        add_with_concepts(&mut group, &term, weight);
        if !group.keys().any(|term| is_known(term)) {
            for part in compound_parts(&word.text, &is_known) {
                add_with_concepts(&mut group, &stem(part), weight * PART_WEIGHT);
            }
        }
        groups.push(group);
    }
    let alone = |term: String, weight: f64| TermGroup::from([(term, weight)]);
    let pairs: BTreeSet<String> = pairs(goal).into_iter().take(MAX_WORDS).collect();
    groups.extend(pairs.into_iter().map(|pair| alone(pair, PAIR_WEIGHT)));
    groups.extend(shapes(goal).into_iter().map(|it| alone(it.to_owned(), SHAPE_WEIGHT)));
    groups
}

/// The terms of a phrase in which people ask for a tool.
pub(super) fn phrase_terms(phrase: &str) -> Vec<String> {
    let mut terms = text_terms(phrase);
    terms.extend(pairs(phrase));
    terms.extend(shapes(phrase).into_iter().map(str::to_owned));
    terms
}

/// The terms of a sentence of a description.
pub(super) fn text_terms(text: &str) -> Vec<String> {
    let stems = words(text).into_iter().filter(|word| !is_stop_word(word)).map(|word| stem(&word));
    stems.flat_map(|term| [slice::from_ref(&term), concepts_of(&term)].concat()).collect()
}

/// The terms of a name. A segment stands for the concept that it names and no other.
pub(super) fn name_terms(name: &str) -> BTreeSet<String> {
    let mut terms = BTreeSet::new();
    for segment in split_words(name) {
        let concept = format!("={segment}");
        let term = stem(&segment);
        if EMPTY_SEGMENTS.contains(&segment.as_str()) {
            continue;
        }
        if concepts_of(&term).contains(&concept) {
            terms.insert(concept);
        }
        terms.insert(term);
    }
    terms
}

/// A word of a goal.
struct GoalWord {
    text: String,
    /// Whether it is part of a name, such as `nightly-build`, `src/main.rs` or `berlin2`.
    names_an_object: bool,
}

/// The words of a goal in order, without addresses.
fn goal_words(goal: &str) -> Vec<GoalWord> {
    let raw = goal.split_whitespace().filter(|raw| !is_address(raw));
    let words = raw.flat_map(|raw| {
        let names_an_object = is_identifier(raw);
        split_words(raw).into_iter().map(move |text| GoalWord { text, names_an_object })
    });
    words.take(MAX_WORDS).collect()
}

/// Whether a word is a name.
fn is_identifier(word: &str) -> bool {
    let core = word.trim_matches(|c: char| !c.is_alphanumeric());
    core.contains(|c: char| "-._/:".contains(c) || c.is_ascii_digit())
}

/// A term keeps the greatest of its weights.
fn add_with_concepts(group: &mut TermGroup, term: &str, weight: f64) {
    let mut add = |term: &str, weight: f64| {
        let known = group.entry(term.to_owned()).or_default();
        *known = known.max(weight);
    };
    add(term, weight);
    for concept in concepts_of(term) {
        add(concept, weight * CONCEPT_WEIGHT);
    }
}

/// The stems of neighbours, stop words included: `how much`, `take off`.
fn pairs(text: &str) -> Vec<String> {
    let stems: Vec<String> = words(text).iter().map(|word| stem(word)).collect();
    stems.windows(2).map(|two| two.join(" ")).collect()
}

/// The words of a text without addresses.
fn words(text: &str) -> Vec<String> {
    text.split_whitespace().filter(|raw| !is_address(raw)).flat_map(split_words).collect()
}

fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.contains(&format!(" {word} "))
}

/// The words of a text in lower case without marks.
fn split_words(text: &str) -> Vec<String> {
    let folded = fold(text);
    let words = folded.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

/// Lower case, with umlauts written out.
fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for letter in text.chars().flat_map(char::to_lowercase) {
        match letter {
            'ä' => folded.push_str("ae"),
            'ö' => folded.push_str("oe"),
            'ü' => folded.push_str("ue"),
            'ß' => folded.push_str("ss"),
            'é' | 'è' | 'ê' => folded.push('e'),
            other => folded.push(other),
        }
    }
    folded
}

/// Removes the ending of a word: enough to compare forms of one word with each other.
pub(super) fn stem(word: &str) -> String {
    // What is running is not a run.
    if word == "running" {
        return word.to_owned();
    }
    let shorter = ["ing", "ied", "ies", "ed", "es", "en", "s"]
        .iter()
        .find_map(|end| word.strip_suffix(end).map(|rest| (rest, *end)));
    let stemmed = match shorter {
        Some((rest, "ies" | "ied")) if rest.chars().count() >= 2 => format!("{rest}i"),
        Some((rest, _)) if rest.chars().count() >= 3 => rest.to_owned(),
        Some(_) | None => word.to_owned(),
    };
    let stemmed = stemmed.trim_end_matches('e');
    let stemmed = stemmed.strip_suffix('y').map_or(stemmed.to_owned(), |rest| format!("{rest}i"));
    undouble(stemmed)
}

/// `runn` (of `running`) is `run`.
fn undouble(mut word: String) -> String {
    let mut last = word.chars().rev();
    if let (Some(a), Some(b)) = (last.next(), last.next())
        && a == b
        && !"aeiou".contains(a)
        && word.chars().count() > 3
    {
        word.pop();
    }
    word
}

/// Divides a compound, such as `aufgabenliste`, into two parts that both have a meaning, or returns the longest
/// beginning or end that has one.
fn compound_parts(word: &str, is_known: impl Fn(&str) -> bool) -> Vec<&str> {
    let has_meaning = |part: &str| {
        let term = stem(part);
        is_known(&term) || !concepts_of(&term).is_empty()
    };
    let chars = word.chars().count();
    let cuts: Vec<(&str, &str)> = word
        .char_indices()
        .take(chars.saturating_sub(MIN_PART_CHARS - 1))
        .skip(MIN_PART_CHARS)
        .map(|(at, _)| word.split_at(at))
        .collect();
    let both = cuts.iter().find_map(|(first, second)| {
        let joint = first.trim_end_matches('s');
        let first = [*first, joint].into_iter().find(|first| has_meaning(first))?;
        has_meaning(second).then(|| vec![first, *second])
    });
    let end = || cuts.iter().map(|(_, second)| *second).find(|part| has_meaning(part));
    let start = || cuts.iter().rev().map(|(first, _)| *first).find(|part| has_meaning(part));
    both.unwrap_or_else(|| end().or_else(start).into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_one_word_have_one_stem() {
        for forms in [
            &["task", "tasks"][..],
            &["schedule", "schedules", "scheduling", "scheduled"],
            &["run", "runs"],
            &["stop", "stopped", "stopping"],
            &["history", "histories"],
            &["file", "files"],
            &["aufgabe", "aufgaben"],
            &["change", "changes", "changed"],
        ] {
            let stems: Vec<String> = forms.iter().map(|word| stem(word)).collect();
            assert!(stems.iter().all(|it| *it == stems[0]), "{forms:?}: {stems:?}");
        }
    }

    #[test]
    fn a_compound_is_divided_where_its_parts_have_a_meaning() {
        let is_known = |term: &str| ["mast", "lot", "plan"].contains(&term);

        assert_eq!(compound_parts("mastlots", is_known), ["mast", "lots"]);
        assert_eq!(compound_parts("xyzwvplan", is_known), ["plan"]);
        assert_eq!(compound_parts("mastxyzwv", is_known), ["mast"]);
        assert_eq!(compound_parts("xyzwvxyzwv", is_known), [""; 0]);
    }

    #[test]
    fn a_goal_has_words_pairs_concepts_and_shapes() {
        let groups = goal_terms("abort it at https://docs.rs", |_| true);
        let has = |term: &str| groups.iter().any(|group| group.contains_key(term));
        assert!(has("abort") && has("abort it") && has("=cancel") && has("#address"), "{groups:?}");
        assert!(!has("it") && !has("doc"), "{groups:?}");
    }

    #[test]
    fn words_of_names_count_less_than_others() {
        let groups = goal_terms("stop nightly-build now", |_| true);
        let weight = |term: &str| groups.iter().find_map(|group| group.get(term)).copied().unwrap();
        assert!(weight("nightli") < weight("stop"), "{groups:?}");
    }
}
