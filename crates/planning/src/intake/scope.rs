//! The scope of a submission.
//!
//! Cues add to the score of a scope: how far the change reaches ([`extent`]), whether it changes one value ([`value`]), what its
//! object is ([`objects`]), and how much is listed. Enough cues of a far reach make it large, enough cues of one value make it
//! trivial; otherwise the higher score of small and medium wins. The size of the project bounds the result.

mod extent;
mod objects;
mod value;

use cynode_domain::project_context::ProjectContext;
use cynode_domain::work_kind::{WorkKind, WorkScope};

use super::phrases::{contains_any, find_any, split_words};
use super::reading::Reading;
use super::{Ruling, Submission};

/// A project with fewer files has one component.
const ONE_COMPONENT_FILES: u32 = 12;
/// The score that makes a submission large or trivial, and the one that makes this certain.
const FAR_REACH: i32 = 50;
const CERTAIN_REACH: i32 = 85;
const ONE_VALUE: i32 = 45;
const CERTAIN_VALUE: i32 = 70;
/// The lead of small over medium, or of medium over small, that makes a ruling certain.
const CERTAIN_LEAD: i32 = 40;
/// New software that is one file.
const ONE_FILE: &str = "script | single file | one file | one page | html file | one liner | snippet | gist | awk | \
    shell function | standalone file";

/// Assesses the scope of a submission of this kind; the project's context is not known for every submission.
pub fn assess_scope(
    submission: &Submission<'_>,
    kind: WorkKind,
    project: Option<&ProjectContext>,
) -> Ruling<WorkScope> {
    let reading = Reading::parse(submission.text);
    if kind == WorkKind::NewProject {
        return assess_new_project(&reading, submission.is_brief);
    }
    let mut scores = ScopeScores::default();
    objects::weigh_form(&reading, kind, &mut scores);
    weigh_labels(submission.labels, &mut scores);
    extent::weigh_extent(&reading, kind, &mut scores);
    value::weigh_value(&reading, kind, &mut scores);
    objects::weigh_objects(&reading, kind, &mut scores);
    objects::weigh_counts(&reading, kind, &mut scores);
    bound(scores.decide(), project)
}

fn assess_new_project(reading: &Reading, is_brief: bool) -> Ruling<WorkScope> {
    let one_file = reading.title().and_then(|title| {
        let (start, len) = find_any(&title.words, ONE_FILE)?;
        Some(title.words[start..start + len].join(" "))
    });
    if let Some(cue) = one_file.filter(|_| !is_brief && reading.requirements().count() < 3) {
        let reason = format!("it has the words \"{cue}\", which are one file");
        return Ruling { value: WorkScope::Small, is_certain: false, reason };
    }
    let reason = "a new project needs every part".to_owned();
    Ruling { value: WorkScope::Large, is_certain: true, reason }
}

fn weigh_labels(labels: &[String], scores: &mut ScopeScores) {
    const LABELS: &[(WorkScope, i32, &str)] = &[
        (WorkScope::Large, 60, "epic | architecture | breaking change | initiative"),
        (WorkScope::Large, 20, "rfc"),
        (WorkScope::Trivial, 10, "dependencies | typo"),
        (WorkScope::Small, 10, "good first issue | easy | small"),
    ];
    for label in labels {
        let words = split_words(label);
        for (scope, weight, table) in LABELS {
            if contains_any(&words, table) {
                scores.add(*scope, *weight, format!("the label \"{label}\""));
            }
        }
    }
}

/// Lowers a scope that the project is too small for.
fn bound(ruling: Ruling<WorkScope>, project: Option<&ProjectContext>) -> Ruling<WorkScope> {
    let (most, files) = match project.map(|project| project.file_count) {
        Some(files @ 1) => (WorkScope::Small, files),
        Some(files @ 2..ONE_COMPONENT_FILES) => (WorkScope::Medium, files),
        // A project without files is empty or unknown.
        _ => return ruling,
    };
    if ruling.value <= most {
        return ruling;
    }
    let reason = format!("the project has {files} files, and {}", ruling.reason);
    Ruling { value: most, is_certain: false, reason }
}

/// The cues that were found for each scope.
#[derive(Debug, Default)]
struct ScopeScores {
    cues: Vec<(WorkScope, i32, String)>,
}

impl ScopeScores {
    fn add(&mut self, scope: WorkScope, weight: i32, cue: impl Into<String>) {
        let cue = cue.into();
        // A repeated cue says nothing new.
        if weight != 0 && !self.cues.iter().any(|(known, _, text)| *known == scope && *text == cue)
        {
            self.cues.push((scope, weight, cue));
        }
    }

    fn total(&self, scope: WorkScope) -> i32 {
        self.cues.iter().filter(|(known, ..)| *known == scope).map(|(_, weight, _)| weight).sum()
    }

    fn decide(&self) -> Ruling<WorkScope> {
        let [trivial, small, medium, large] =
            [WorkScope::Trivial, WorkScope::Small, WorkScope::Medium, WorkScope::Large]
                .map(|scope| self.total(scope));
        let (value, is_certain) = if large >= FAR_REACH && large > trivial {
            (WorkScope::Large, large >= CERTAIN_REACH && trivial == 0)
        } else if trivial >= ONE_VALUE {
            (WorkScope::Trivial, trivial >= CERTAIN_VALUE && medium < CERTAIN_LEAD)
        } else if small > medium {
            (WorkScope::Small, small - medium >= CERTAIN_LEAD && trivial + large == 0)
        } else {
            (WorkScope::Medium, medium - small >= CERTAIN_LEAD && trivial + large == 0)
        };
        let mut reasons: Vec<_> = self.cues.iter().filter(|(scope, ..)| *scope == value).collect();
        reasons.sort_by_key(|(_, weight, _)| -weight);
        let named: Vec<&str> = reasons.iter().take(3).map(|(.., cue)| cue.as_str()).collect();
        let reason = format!("it has {}", named.join(", "));
        Ruling { value, is_certain, reason }
    }
}

#[cfg(test)]
mod tests;
