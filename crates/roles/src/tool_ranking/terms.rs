//! The terms of goals, names and descriptions.
//!
//! A term is the stem of a word in lower case without marks. Words of a goal also stand for others at a lower weight:
//! synonyms, the parts of a compound, and what their form shows.

use std::collections::{BTreeMap, BTreeSet};

use super::synonyms::synonyms_of;

/// Words that say nothing about a tool, as they are written.
const STOP_WORDS: &str = " a about again all am an and any are as at be been but by can could did do does done for \
    from had has have he her him his how i if in into is it its just let like may me more most my no not nobody now \
    of off on one only or our out over please she should so some than that the their them then there these they this \
    those to too until up us was we were what when where which while who whose why will with would you your \
    aber alle allen als am an auch auf aus bei bin bis bitte da das dass dein dem den der des die dies diese dieser \
    du durch ein eine einem einen einer eines er es etwas euch fuer gerade habe haben hat hier ich ihr im in ist ja \
    jetzt kann kein keine koennen mal man mein meine meinem meinen meiner mich mir mit nach nicht noch nun nur ob \
    oder ohne schon sein seine sich sie sind so soll sollen ueber um und uns unser von vom vor war was wenn wer \
    werden wie wieder wir wird wo zu zum zur ";
/// The first words of questions, which ask to see something.
const QUESTION_WORDS: &str = " what which who when where why how is are was were did does do has have welche welcher \
    welches was wie wer wann warum wo ist sind hat gibt ";
/// The weight of a word that a word of the goal stands for.
const SYNONYM_WEIGHT: f64 = 0.85;
/// The weight of a part of a compound.
const PART_WEIGHT: f64 = 0.6;
/// The weight of what the form of a goal shows.
const FORM_WEIGHT: f64 = 0.8;
/// The weight of a word that names an object, such as a part of `nightly-build`.
const ARGUMENT_WEIGHT: f64 = 0.35;
/// The weight of the first word, which usually says what to do.
const FIRST_WEIGHT: f64 = 1.35;
/// The weight of reading tools for a question.
const QUESTION_WEIGHT: f64 = 0.5;
/// The shortest part of a compound.
const MIN_PART_CHARS: usize = 4;
/// The most words of a goal that count.
const MAX_WORDS: usize = 400;

/// What one word of a goal stands for, with weights.
pub(super) type TermGroup = BTreeMap<String, f64>;

/// The terms of a goal, one group for each word; `is_known` says whether a tool has the term.
pub(super) fn goal_terms(goal: &str, is_known: impl Fn(&str) -> bool) -> Vec<TermGroup> {
    let mut groups: Vec<TermGroup> = vec![];
    let mut seen = BTreeSet::new();
    let mut is_first = true;
    for (word, names_an_object) in goal_words(goal) {
        let weight = match (names_an_object, is_first) {
            (true, _) => ARGUMENT_WEIGHT,
            (false, true) => FIRST_WEIGHT,
            (false, false) => 1.0,
        };
        is_first &= names_an_object;
        let term = stem(&word);
        if !seen.insert(term.clone()) {
            continue;
        }
        let mut group = TermGroup::new();
        add_with_synonyms(&mut group, &term, weight);
        if !is_known(&term) && synonyms_of(&term).is_empty() {
            for part in compound_parts(&word, &is_known) {
                add_with_synonyms(&mut group, &stem(&part), weight * PART_WEIGHT);
            }
        }
        groups.push(group);
    }
    groups.extend(form_terms(goal, &groups));
    groups
}

/// What the form of a goal shows: a question, an address, a command, the name of a file.
fn form_terms(goal: &str, groups: &[TermGroup]) -> Vec<TermGroup> {
    let group = |terms: &[(&str, f64)]| -> TermGroup {
        terms.iter().map(|(term, weight)| (stem(term), *weight)).collect()
    };
    let mut shown = vec![];
    let first = split_words(goal).next().unwrap_or_default();
    if QUESTION_WORDS.contains(&format!(" {first} ")) {
        let (ask, rare) = (QUESTION_WEIGHT, QUESTION_WEIGHT / 2.0);
        shown.push(group(&[("list", ask), ("get", ask), ("history", rare), ("result", rare)]));
    }
    let has_scheme = goal.contains("http://") || goal.contains("https://");
    if has_scheme || goal.contains("www.") {
        shown.push(group(&[("http", FORM_WEIGHT)]));
    }
    if has_scheme {
        shown.push(group(&[("fetch", FORM_WEIGHT)]));
    }
    if goal.matches('`').count() >= 2 {
        shown.push(group(&[("create", FORM_WEIGHT)]));
        shown.push(group(&[("task", FORM_WEIGHT), ("command", FORM_WEIGHT * 0.8)]));
    }
    if names_a_file(goal) && !groups.iter().any(|group| group.contains_key(&stem("file"))) {
        shown.push(group(&[("file", FORM_WEIGHT)]));
    }
    shown
}

/// The words of a goal in order, and whether each is part of a name, an address or a command.
fn goal_words(goal: &str) -> Vec<(String, bool)> {
    let is_quoted_at = |index: usize| goal.matches('`').count() >= 2 && index % 2 == 1;
    let mut found = vec![];
    for (index, segment) in goal.split('`').enumerate() {
        // "tell me" asks to see something; "tell" alone instructs an agent.
        let segment = segment.to_lowercase().replace("tell me ", "show ");
        for raw in segment.split_whitespace().filter(|raw| !raw.contains("://")) {
            let names_an_object = is_quoted_at(index) || is_identifier(raw);
            found.extend(words(raw).map(|word| (word, names_an_object)));
            if found.len() >= MAX_WORDS {
                found.truncate(MAX_WORDS);
                return found;
            }
        }
    }
    found
}

/// Whether a word is a name, such as `nightly-build`, `src/main.rs` or `berlin2`.
fn is_identifier(word: &str) -> bool {
    let core = word.trim_matches(|c: char| ".,;:?!\"'()".contains(c));
    let letters: Vec<char> = core.chars().collect();
    let is_joined = |three: &[char]| match three {
        [before, joint, after] => {
            "-._/:".contains(*joint) && before.is_alphanumeric() && after.is_alphanumeric()
        }
        _ => false,
    };
    letters.windows(3).any(is_joined) || letters.iter().any(char::is_ascii_digit)
}

/// A term keeps the greatest of its weights.
fn add_with_synonyms(group: &mut TermGroup, term: &str, weight: f64) {
    let mut add = |term: String, weight: f64| {
        let known = group.entry(term).or_default();
        *known = known.max(weight);
    };
    for synonym in synonyms_of(term) {
        add(stem(synonym), weight * SYNONYM_WEIGHT);
    }
    add(term.to_owned(), weight);
}

/// The terms of a text, repeated as often as they occur.
pub(super) fn text_terms(text: &str) -> Vec<String> {
    words(text).map(|word| stem(&word)).collect()
}

/// The terms of a name, without repetitions.
pub(super) fn name_terms(name: &str) -> Vec<String> {
    let mut terms: Vec<String> = Vec::new();
    for word in split_words(name) {
        let term = stem(&word);
        if !terms.contains(&term) {
            terms.push(term);
        }
    }
    terms
}

/// Whether a word of the goal has an extension, such as `report.pdf`.
fn names_a_file(goal: &str) -> bool {
    goal.split_whitespace().filter(|word| !word.contains("://")).any(|word| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        word.rsplit_once('.').is_some_and(|(stem, extension)| {
            let is_extension = (2..=4).contains(&extension.len())
                && extension.chars().all(|c| c.is_ascii_lowercase());
            is_extension && stem.chars().any(char::is_alphabetic)
        })
    })
}

/// The words of a text in lower case without marks, without stop words.
fn words(text: &str) -> impl Iterator<Item = String> {
    split_words(text).filter(|word| !STOP_WORDS.contains(&format!(" {word} ")))
}

fn split_words(text: &str) -> impl Iterator<Item = String> {
    let folded = fold(text);
    let words: Vec<String> = folded
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect();
    words.into_iter()
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

/// Divides a compound, such as `aufgabenliste`, into two parts that both have a meaning.
fn compound_parts(word: &str, is_known: impl Fn(&str) -> bool) -> Vec<String> {
    let has_meaning = |part: &str| {
        let term = stem(part);
        is_known(&term) || !synonyms_of(&term).is_empty()
    };
    let ends = word.char_indices().map(|(at, _)| at).skip(MIN_PART_CHARS);
    for at in ends {
        let (first, second) = word.split_at(at);
        if second.chars().count() < MIN_PART_CHARS {
            break;
        }
        let is_first = has_meaning(first) || has_meaning(first.trim_end_matches('s'));
        if is_first && has_meaning(second) {
            return vec![first.to_owned(), second.to_owned()];
        }
    }
    vec![]
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
    fn a_compound_is_divided_where_both_parts_have_a_meaning() {
        let is_known = |term: &str| ["task", "list", "plan"].contains(&term);

        assert_eq!(compound_parts("tasklist", is_known), ["task", "list"]);
        assert_eq!(compound_parts("multitasking", is_known), Vec::<String>::new());
        assert_eq!(compound_parts("taskxyzlist", is_known), Vec::<String>::new());
    }

    #[test]
    fn the_form_of_a_goal_shows_addresses_commands_and_files() {
        let has = |goal: &str, term: &str| {
            goal_terms(goal, |_| false).iter().any(|group| group.contains_key(&stem(term)))
        };
        assert!(has("read https://docs.rs", "http"));
        assert!(has("show me report.pdf", "file"));
        assert!(!has("It went well. Why?", "file"));
        assert!(has("do `make test`", "command"));
    }

    #[test]
    fn words_of_names_count_less_than_others() {
        let groups = goal_terms("stop nightly-build now", |_| true);
        let weight = |term: &str| groups.iter().find_map(|group| group.get(term)).copied().unwrap();
        assert!(weight("nightli") < weight("stop"), "{groups:?}");
    }
}
