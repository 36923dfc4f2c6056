//! The cues of one sentence: the verb that opens a clause, wishes, and words of defects.

use cynode_domain::work_kind::WorkKind;

use super::KindScores;
use super::cues;
use crate::intake::phrases::{
    CLAUSE_MARK, contains_any, find_any, find_phrase, match_start, phrases,
};
use crate::intake::reading::Sentence;

/// What the first verb of a clause asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opening {
    Fix,
    Add,
    Change,
    /// No verb that asks for anything: a statement or a name.
    None,
}

/// Weighs one sentence.
pub(super) fn weigh_clauses(sentence: &Sentence, scores: &mut KindScores) {
    let words = mask_neutral(&sentence.words);
    let mut has_request = false;
    let mut statements = vec![];
    for (number, clause) in words.split(|word| word == CLAUSE_MARK).enumerate() {
        let clause = skip_openings(clause);
        let (opening, verb) = find_opening(clause);
        match opening {
            Opening::Fix => {
                let weight = if number == 0 { 60 } else { 30 };
                scores.add(WorkKind::QuickFix, weight, format!("the verb \"{verb}\""));
                has_request = true;
            }
            Opening::Add => {
                let weight = if number == 0 { 55 } else { 25 };
                scores.add(WorkKind::FeatureRequest, weight, format!("the verb \"{verb}\""));
                has_request |= number == 0;
            }
            Opening::Change => {
                let weight = if number == 0 { 40 } else { 10 };
                scores.add(WorkKind::FeatureRequest, weight, format!("the verb \"{verb}\""));
                weigh_defects(clause, 2, scores);
                has_request |= number == 0;
            }
            Opening::None => statements.push(clause),
        }
    }
    for clause in &statements {
        weigh_wishes(clause, scores);
        weigh_defects(clause, if has_request { 2 } else { 1 }, scores);
    }
    if !has_request {
        weigh_form(&words, scores);
    }
}

/// Whether a sentence asks for a change: a clause opens with a verb, or it has a wish.
pub(in crate::intake) fn has_request(sentence: &Sentence) -> bool {
    let words = mask_neutral(&sentence.words);
    words.split(|word| word == CLAUSE_MARK).any(is_request)
}

/// Whether a clause opens with a verb that asks for a change, or has a wish.
pub(in crate::intake) fn is_request(clause: &[String]) -> bool {
    let rest = skip_openings(clause);
    find_opening(rest).0 != Opening::None
        || match_start(rest, super::build::BUILD_VERBS).is_some()
        || cues::WISHES.iter().take(2).any(|(_, table)| contains_any(clause, table))
}

/// Whether words open with a verb that asks for a change.
pub(in crate::intake) fn opens_with_verb(words: &[String]) -> bool {
    find_opening(skip_openings(words)).0 != Opening::None
}

/// Whether words say that something is wrong.
pub(in crate::intake) fn has_strong_defect(words: &[String]) -> bool {
    let words = mask_neutral(words);
    cues::DEFECTS.iter().take(2).any(|(_, table)| contains_any(&words, table))
}

/// Removes compounds that contain words of defects without being one.
fn mask_neutral(words: &[String]) -> Vec<String> {
    let mut words = words.to_vec();
    while let Some((start, len)) = find_any(&words, cues::NEUTRAL) {
        words.splice(start..start + len, ["thing".to_owned()]);
    }
    words
}

/// Skips "could you please" and its like.
pub(super) fn skip_openings(mut clause: &[String]) -> &[String] {
    while let Some(len) = match_start(clause, cues::OPENINGS).filter(|&len| len < clause.len()) {
        clause = &clause[len..];
    }
    clause
}

fn find_opening(clause: &[String]) -> (Opening, String) {
    let verb = |len: usize| clause[..len].join(" ");
    if let Some(len) = match_start(clause, cues::NO_FIX) {
        return (Opening::Change, verb(len));
    }
    let table = [
        (Opening::Fix, cues::FIX_VERBS),
        (Opening::Add, cues::ADD_VERBS),
        (Opening::Change, cues::CHANGE_VERBS),
    ];
    for (opening, verbs) in table {
        let Some(len) = match_verb(clause, verbs) else { continue };
        // "Search returns nothing": a noun that looks like a verb, followed by the real one.
        if is_noun_here(&clause[len..]) {
            continue;
        }
        if match_start(&clause[len..], cues::FIX_OBJECTS).is_some() {
            return (Opening::Fix, "add a fix".to_owned());
        }
        return (opening, verb(len));
    }
    (Opening::None, String::new())
}

/// Returns the length of the verb at the start of a clause, in the imperative or the past: "add", "added".
fn match_verb(clause: &[String], verbs: &str) -> Option<usize> {
    match_start(clause, verbs).or_else(|| {
        // "Deleted photos reappear" states a fact.
        let stem =
            clause.first()?.strip_suffix("ed").filter(|_| !has_strong_defect(&clause[1..]))?;
        let forms = [stem.to_owned(), format!("{stem}e")];
        forms.iter().find_map(|form| match_start(std::slice::from_ref(form), verbs))
    })
}

/// Whether the word before these is a noun, because a verb of a statement follows.
fn is_noun_here(rest: &[String]) -> bool {
    const FINITE: &str = "is | are | was | were | has | does | doesn't | isn't | aren't | gets | returns | shows | fails | \
        takes | stops | keeps | loses | can't | cannot | won't | never | not";
    const NOUN_FOLLOWERS: &str = "is | are | was | does | doesn't | isn't | fails | crashes | shows | \
        returns | takes | keeps | has | never | breaks | deletes | gives | causes | drifts | gets | goes | \
        results | opens | stops | loses | jumps | ignores | triggers | doesn't | does not | can't | cannot | won't | button | dialog | form | page | mode | of | job | stopped | \
        closes | ticket | toggle | gets | and _ fail";
    let has_article = match_start(rest, "a | an | the | namex | my | our | support").is_some();
    let near = &rest[..rest.len().min(4)];
    match_start(rest, NOUN_FOLLOWERS).is_some()
        || (!has_article && contains_any(near, FINITE))
        || (!has_article
            && rest.len() > 2
            && contains_any(&rest[..3], "dialog | form crashes | ticket form | button"))
}

fn weigh_wishes(clause: &[String], scores: &mut KindScores) {
    for (weight, table) in cues::WISHES {
        if let Some((start, len)) = find_any(clause, table) {
            let wish = clause[start..start + len].join(" ");
            if contains_any(&clause[start.saturating_sub(2)..start], cues::UNFULFILLED) {
                continue;
            }
            scores.add(WorkKind::FeatureRequest, *weight, format!("the wish \"{wish}\""));
            return;
        }
    }
}

/// The weight of a sentence that starts with "no": "No sound on Windows".
const ABSENCE: i32 = 30;

/// Adds the words of defects, each with its weight divided by `divisor`.
fn weigh_defects(clause: &[String], divisor: i32, scores: &mut KindScores) {
    if match_start(clause, "no").is_some() && match_start(clause, "no more | no longer").is_none() {
        scores.add(WorkKind::QuickFix, ABSENCE / divisor, "something that is absent");
    }
    for (weight, table) in cues::DEFECTS {
        let defect = phrases(table).find_map(|phrase| {
            let start = find_phrase(clause, phrase)?;
            let len = phrase.split(' ').count();
            (!is_negated(&clause[..start])).then(|| clause[start..start + len].join(" "))
        });
        if let Some(defect) = defect {
            let cue = format!("the defect \"{defect}\"");
            scores.add(WorkKind::QuickFix, weight / divisor, cue);
        }
    }
}

fn is_negated(before: &[String]) -> bool {
    phrases(cues::NEGATIONS).any(|negation| {
        let len = negation.split(' ').count();
        // The negation stands directly before the word, or one word earlier.
        (0..2).any(|gap| {
            before.len() >= len + gap
                && match_start(&before[before.len() - len - gap..], negation).is_some()
        })
    })
}

/// Weighs the form of a sentence without a request: statements report, names wish.
fn weigh_form(words: &[String], scores: &mut KindScores) {
    const BEFORE_NOUNS: &str =
        "for | of | the | to | all | new | and | with | in | a | an | on | by";
    const DEFINITE: &str =
        "the | my | our | der | die | das | le | la | les | el | los | mein | meine | mon | mi";
    const SUBORDINATORS: &str = "after | when | if | while | once | before | until | that | which | so | because | where | as";
    // A verb in a subordinate clause states no fact, unless the sentence begins with that clause.
    let end = find_any(words, SUBORDINATORS).map_or(words.len(), |(start, _)| start);
    let first = if end < 2 { words } else { &words[..end] };
    let first = &first[..first.len().min(12)];
    let starts_with_article = match_start(words, "a | an | ein | eine | une | un | una").is_some();
    // After a preposition or an article, "changes" and its like are nouns.
    let statement = (1..first.len())
        .find_map(|start| Some((start, match_start(&first[start..], cues::STATEMENTS)?)))
        .filter(|(start, _)| match_start(&first[start - 1..], BEFORE_NOUNS).is_none());
    match statement {
        None if match_start(words, DEFINITE).is_some()
            && words.len() > 3
            && scores.total(WorkKind::FeatureRequest) == 0 =>
        {
            scores.add(WorkKind::QuickFix, 20, "a statement");
        }
        Some(_) if starts_with_article => {}
        Some((start, len)) => {
            let verb = first[start..start + len].join(" ");
            scores.add(WorkKind::QuickFix, 20, format!("the statement \"{verb}\""));
        }
        None if scores.total(WorkKind::QuickFix) > 0 => {}
        None => scores.add(WorkKind::FeatureRequest, 15, "the name of a thing"),
    }
}
