//! The kind of a submission.
//!
//! Cues add to the score of a kind: labels of the forge, the prefix and the form of the title, the sections of a template, and
//! words of the body, which weigh less than the title. The kind with the highest score wins.

mod build;
mod clauses;
mod cues;

use cynode_domain::work_kind::WorkKind;

use super::reading::{Reading, Section};
use super::{Ruling, Submission};
use clauses::weigh_clauses;
pub(super) use clauses::{has_request, has_strong_defect, is_request, opens_with_verb};

/// The most that the sentences after the title add to one kind.
const MAX_BODY_WEIGHT: i32 = 30;
/// The lead over the other kinds that makes a ruling certain.
const CERTAIN_LEAD: i32 = 45;

/// Classifies a submission.
pub fn classify(submission: &Submission<'_>) -> Ruling<WorkKind> {
    if submission.is_brief || cynode_fault::fault!("PMO-04") {
        let reason = "there is a project brief".to_owned();
        return Ruling { value: WorkKind::NewProject, is_certain: true, reason };
    }
    let reading = Reading::parse(submission.text);
    let mut scores = KindScores::default();
    weigh_labels(submission.labels, &mut scores);
    weigh_frame(&reading, &mut scores);
    if let Some(title) = reading.title() {
        weigh_clauses(title, &mut scores);
    }
    build::weigh_new_project(&reading, &mut scores);
    let mut body = KindScores::default();
    for sentence in reading.body() {
        if matches!(sentence.section, Section::Plain | Section::Symptom | Section::Wish) {
            weigh_clauses(sentence, &mut body);
        }
    }
    scores.add_body(body);
    scores.decide()
}

fn weigh_labels(labels: &[String], scores: &mut KindScores) {
    for label in labels {
        let words = super::phrases::split_words(label);
        for (kind, weight, table) in cues::LABELS {
            if super::phrases::contains_any(&words, table) {
                scores.add(*kind, *weight, format!("the label \"{label}\""));
            }
        }
    }
}

/// Weighs what stands around the sentences: prefix, sections, trace.
fn weigh_frame(reading: &Reading, scores: &mut KindScores) {
    if let Some(prefix) = &reading.prefix
        && let Some((kind, weight, _)) = cues::PREFIXES
            .iter()
            .find(|(_, _, table)| table.split('|').any(|known| known.trim() == prefix))
    {
        scores.add(*kind, *weight, format!("the prefix \"{prefix}\""));
    }
    let has = |section| reading.sections.contains(&section);
    if has(Section::Steps) || has(Section::Symptom) {
        scores.add(WorkKind::QuickFix, 50, "the sections of a bug report");
    } else if has(Section::Expected) {
        scores.add(WorkKind::QuickFix, 25, "what it expects");
    }
    if has(Section::Wish) || has(Section::Rejected) || has(Section::Criteria) {
        scores.add(WorkKind::FeatureRequest, 50, "the sections of a feature request");
    } else if has(Section::Problem) {
        scores.add(WorkKind::FeatureRequest, 15, "a motivation");
    }
    if reading.has_trace {
        scores.add(WorkKind::QuickFix, 50, "a stack trace");
    }
}

/// The cues that were found for each kind.
#[derive(Debug, Default)]
struct KindScores {
    cues: Vec<(WorkKind, i32, String)>,
}

impl KindScores {
    fn add(&mut self, kind: WorkKind, weight: i32, cue: impl Into<String>) {
        let cue = cue.into();
        // A repeated cue says nothing new.
        if weight != 0 && !self.cues.iter().any(|(known, _, text)| *known == kind && *text == cue) {
            self.cues.push((kind, weight, cue));
        }
    }

    fn total(&self, kind: WorkKind) -> i32 {
        self.cues.iter().filter(|(known, ..)| *known == kind).map(|(_, weight, _)| weight).sum()
    }

    /// Adds the cues of the body with less weight each, and with a limit for their sum.
    fn add_body(&mut self, body: Self) {
        let mut left = [MAX_BODY_WEIGHT; 3];
        for (kind, weight, cue) in body.cues {
            let left = &mut left[kind as usize];
            let weight = (weight * 2 / 5).min(*left);
            *left -= weight.max(0);
            self.add(kind, weight, cue);
        }
    }

    fn decide(&self) -> Ruling<WorkKind> {
        let mut order = [WorkKind::FeatureRequest, WorkKind::QuickFix, WorkKind::NewProject];
        // The sort is stable: a tie goes to the feature request.
        order.sort_by_key(|kind| -self.total(*kind));
        let [value, second, _] = order;
        let lead = self.total(value) - self.total(second).max(0);
        let mut reasons: Vec<_> = self.cues.iter().filter(|(kind, ..)| *kind == value).collect();
        reasons.sort_by_key(|(_, weight, _)| -weight);
        let named: Vec<&str> = reasons.iter().take(3).map(|(.., cue)| cue.as_str()).collect();
        let reason = if named.is_empty() {
            "no cue was found, which is usual for features".to_owned()
        } else {
            format!("it has {}", named.join(", "))
        };
        Ruling { value, is_certain: lead >= CERTAIN_LEAD, reason }
    }
}

#[cfg(test)]
mod tests;
