//! Loads the corpora, and counts.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use cynode_domain::project_context::ProjectContext;
use cynode_domain::work_kind::{ProjectKind, WorkKind, WorkScope};
use cynode_planning::intake::Submission;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// A submission with the labels that a person gave it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LabelledSubmission {
    pub(crate) text: String,
    pub(crate) kind: WorkKind,
    pub(crate) scope: WorkScope,
    #[serde(default)]
    labels: Vec<String>,
    #[serde(default)]
    is_brief: bool,
    file_count: Option<u32>,
    project: Option<ProjectKind>,
}

impl LabelledSubmission {
    pub(crate) fn submission(&self) -> Submission<'_> {
        Submission { text: &self.text, labels: &self.labels, is_brief: self.is_brief }
    }

    pub(crate) fn project(&self) -> Option<ProjectContext> {
        let kind = self.project.unwrap_or(ProjectKind::Unknown);
        self.file_count.map(|file_count| ProjectContext {
            kind,
            guide: None,
            architecture: String::new(),
            key_paths: BTreeMap::new(),
            patterns: BTreeMap::new(),
            build_commands: vec![],
            test_commands: vec![],
            has_tests: false,
            has_ci: false,
            has_ui: false,
            has_brief: false,
            file_count,
            files: vec![],
            is_analysed: false,
        })
    }
}

/// A text with the fault that a person sees in it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LabelledFault {
    pub(crate) text: String,
    pub(crate) fault: String,
}

/// A text, and the same text with words that try to decide its classification.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HostilePair {
    pub(crate) clean: String,
    pub(crate) hostile: String,
}

/// Loads a corpus file.
pub(crate) fn load<T: DeserializeOwned>(name: &str) -> Vec<T> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(name);
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|fault| panic!("{}: {fault}", path.display()));
    let parse = |line| serde_json::from_str(line).unwrap_or_else(|fault| panic!("{fault}: {line}"));
    text.lines().map(parse).collect()
}

/// How often each answer was given for each label.
#[derive(Debug, Default)]
pub(crate) struct Confusion {
    counts: BTreeMap<(String, String), usize>,
}

impl Confusion {
    pub(crate) fn count(&mut self, label: &str, answer: &str) {
        *self.counts.entry((label.to_owned(), answer.to_owned())).or_default() += 1;
    }

    fn sum(&self, counted: impl Fn(&str, &str) -> bool) -> usize {
        self.counts
            .iter()
            .filter(|((label, answer), _)| counted(label, answer))
            .map(|(_, count)| count)
            .sum()
    }

    /// The part of right answers.
    pub(crate) fn accuracy(&self) -> f64 {
        ratio(self.sum(|label, answer| label == answer), self.sum(|_, _| true))
    }

    /// How many of the answers `name` are right.
    pub(crate) fn precision(&self, name: &str) -> f64 {
        let right = self.sum(|label, answer| label == name && answer == name);
        ratio(right, self.sum(|_, answer| answer == name))
    }

    /// How many of the inputs labelled `name` are found.
    pub(crate) fn recall(&self, name: &str) -> f64 {
        let right = self.sum(|label, answer| label == name && answer == name);
        ratio(right, self.sum(|label, _| label == name))
    }

    /// The matrix as text: a row for each label, a column for each answer.
    pub(crate) fn render(&self, names: &[&str]) -> String {
        let mut text = format!("{:>16}", "label \\ answer");
        for name in names {
            let _ = write!(text, "{name:>17}");
        }
        for label in names {
            let _ = write!(text, "\n{label:>16}");
            for answer in names {
                let count = self.sum(|l, a| l == *label && a == *answer);
                let _ = write!(text, "{count:>17}");
            }
        }
        text
    }
}

/// The quotient of two counts; 1 if there is nothing to count.
pub(crate) fn ratio(part: usize, whole: usize) -> f64 {
    let float = |count| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    if whole == 0 { 1.0 } else { float(part) / float(whole) }
}
