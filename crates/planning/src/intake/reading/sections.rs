//! The sections of issue templates, and the sentences that templates bring with them.

use crate::intake::phrases::{match_start, split_words};

/// The part of a text that a heading opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::intake) enum Section {
    /// The text without a known heading.
    Plain,
    /// How to see a defect.
    Steps,
    /// What is wrong.
    Symptom,
    /// What a defect report expects.
    Expected,
    /// Versions and machines.
    Environment,
    /// What a feature request complains about.
    Problem,
    /// What a feature request asks for.
    Wish,
    /// What a feature request does not ask for.
    Rejected,
    /// What must be true in the end.
    Criteria,
}

impl Section {
    /// Whether the section says what is requested.
    pub(in crate::intake) fn is_main(self) -> bool {
        matches!(self, Self::Plain | Self::Symptom | Self::Wish | Self::Criteria)
    }
}

const HEADINGS: &[(Section, &str)] = &[
    (
        Section::Plain,
        "summary | description | overview | details | tasks | todo | beschreibung | résumé | resumen",
    ),
    (
        Section::Steps,
        "steps to reproduce | to reproduce | how to reproduce | reproduction | steps | repro | \
         repro steps | schritte zum reproduzieren | étapes pour reproduire | pasos para reproducir",
    ),
    (
        Section::Symptom,
        "describe the bug | bug description | what happened | what happens | current behavior | \
         current behaviour | actual behavior | actual behaviour | actual result* | observed | \
         actual | the bug | symptom* | fehlerbeschreibung | what is the bug | what went wrong | \
         describe the issue | issue description",
    ),
    (
        Section::Expected,
        "expected behavior | expected behaviour | expected result* | what did you expect | \
         what you expected | expected | erwartetes verhalten | comportement attendu",
    ),
    (
        Section::Environment,
        "environment | version* | desktop | smartphone | system info* | your environment | \
         screenshots | logs | log | log output | backtrace | stack trace | stacktrace | traceback | \
         is there an existing issue | checklist | additional context | additional information | \
         anything else | os | umgebung | relevant log output | device",
    ),
    (
        Section::Problem,
        "is your feature request related | problem | problem statement | motivation | background | \
         context | why | rationale | problem description",
    ),
    (
        Section::Wish,
        "describe the solution | proposal | proposed solution | proposed change* | solution | \
         wish | feature description | feature request | desired behavior | desired behaviour | \
         describe the feature | what would you like | suggestion | user story | what i'd like | \
         summary of the feature | use case*",
    ),
    (
        Section::Rejected,
        "describe alternatives | alternatives | alternatives considered | out of scope | non goals | \
         not in scope | open questions | references | related issues",
    ),
    (
        Section::Criteria,
        "acceptance criteria | akzeptanzkriterien | definition of done | requirements | \
         anforderungen | critères d'acceptation",
    ),
];

/// Sentences that come with templates.
const BOILERPLATE: &str = "a clear and concise description | if applicable , add screenshots | \
    no response | i have searched | i've searched | i agree to follow | steps to reproduce the \
    behavior | steps to reproduce the behaviour | add any other context | thanks for your report | \
    please fill in | please describe | n a | none | tbd | todo";

/// Headings that end with words of their own, such as "Expected: one row".
const MAX_HEADING_EXTRA: usize = 12;

/// Returns the section that a heading opens.
pub(super) fn find_section(words: &[String]) -> Option<Section> {
    HEADINGS.iter().find_map(|(section, table)| {
        let len = match_start(words, table)?;
        // Short names must be the whole heading: "Version" opens a section, "Version picker" does not.
        let is_whole =
            if len == 1 { words.len() == 1 } else { words.len() <= len + MAX_HEADING_EXTRA };
        is_whole.then_some(*section)
    })
}

/// Whether a line came with a template, or holds its place.
pub(super) fn is_boilerplate(line: &str) -> bool {
    let words = split_words(line);
    match_start(&words, BOILERPLATE).is_some_and(|len| len > 2 || words.len() == len)
}
