//! The review gate: whether a unit is approved, sent back, or left to a person.
//!
//! The reviewer is another agent than the one that did the work. It judges each criterion with evidence of this attempt; a
//! criterion without evidence is not met. Only critical and major issues send work back, and only a limited number of times.

use cynode_domain::report::{ReviewFeedback, ReviewIssue, Verdict};
use serde::{Deserialize, Serialize};

/// The file in which a reviewer leaves its report.
pub const REVIEW_FILE: &str = "review.json";
/// The longest report.
pub const MAX_REVIEW_BYTES: usize = 256 * 1024;

/// The report of a reviewer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReviewReport {
    pub verdict: Verdict,
    /// One entry for each requirement, by its number from 1.
    #[serde(default)]
    pub criteria: Vec<CriterionEvidence>,
    #[serde(default)]
    pub critical_issues: Vec<ReviewIssue>,
    #[serde(default)]
    pub major_issues: Vec<ReviewIssue>,
    #[serde(default)]
    pub minor_issues: Vec<ReviewIssue>,
    pub summary: String,
}

/// What a reviewer found about one requirement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CriterionEvidence {
    /// From 1.
    pub number: usize,
    pub is_met: bool,
    /// Whether a change of the scope took the requirement out of the work: it is neither met nor open.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_out_of_scope: bool,
    /// Where it shows: `path:line`, or a line of output; the words of the change that took it out of scope.
    #[serde(default)]
    pub evidence: String,
}

impl CriterionEvidence {
    const fn is_open(&self) -> bool {
        !self.is_met && !self.is_out_of_scope
    }

    /// Why the judgement cannot be used; `None` if it can.
    fn fault(&self, is_scope_reduced: bool) -> Option<String> {
        let number = self.number;
        let has_evidence = !self.evidence.trim().is_empty();
        match (self.is_met, self.is_out_of_scope) {
            (true, true) => {
                Some(format!("requirement {number} is said to be met and to be out of scope"))
            }
            (true, false) if !has_evidence => {
                Some(format!("requirement {number} is said to be met without evidence"))
            }
            (false, true) if !is_scope_reduced => Some(format!(
                "requirement {number} is said to be out of scope, but the scope was not reduced"
            )),
            (false, true) if !has_evidence => Some(format!(
                "requirement {number} is said to be out of scope without the words of the change"
            )),
            _ => None,
        }
    }
}

/// What a report must judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReviewScope {
    /// How many requirements the request has.
    pub requirements: usize,
    /// Whether an instruction reduced the scope of the review or of the work that it judges. Without one, no requirement
    /// can be out of scope, whatever the report says.
    pub is_reduced: bool,
}

impl ReviewReport {
    /// Reads a report; the error says what is wrong with it, for the reviewer.
    pub fn parse(text: &str, scope: ReviewScope) -> Result<Self, String> {
        if text.len() > MAX_REVIEW_BYTES {
            return Err(format!("{REVIEW_FILE} is longer than {MAX_REVIEW_BYTES} bytes"));
        }
        let report: Self = serde_json::from_str(text)
            .map_err(|error| format!("{REVIEW_FILE} is not valid: {error}"))?;
        let faults = report.faults(scope);
        if faults.is_empty() { Ok(report) } else { Err(faults.join("; ")) }
    }

    fn faults(&self, scope: ReviewScope) -> Vec<String> {
        // The shape is that of any feedback; whether the verdict fits is checked below.
        let shape = ReviewFeedback { verdict: Verdict::ChangesRequested, ..self.to_feedback() };
        let mut faults = shape.validation_errors();
        for number in 1..=scope.requirements {
            let mut entries = self.criteria.iter().filter(|entry| entry.number == number);
            match (entries.next(), entries.next()) {
                (None, _) => faults.push(format!("requirement {number} was not judged")),
                (Some(_), Some(_)) => faults.push(format!("requirement {number} was judged twice")),
                (Some(entry), None) => faults.extend(entry.fault(scope.is_reduced)),
            }
        }
        let has_open = self.criteria.iter().any(CriterionEvidence::is_open);
        if self.verdict == Verdict::Approved && (has_open || self.is_blocking()) {
            faults.push(
                "it approves work with open requirements, critical or major issues".to_owned(),
            );
        }
        if self.verdict == Verdict::ChangesRequested && !has_open && !self.is_blocking() {
            faults.push(
                "it requests changes without an open requirement, critical or major issue"
                    .to_owned(),
            );
        }
        faults
    }

    fn is_blocking(&self) -> bool {
        !self.critical_issues.is_empty() || !self.major_issues.is_empty()
    }

    /// The feedback for the agent that did the work: an open requirement is a critical issue.
    pub fn to_feedback(&self) -> ReviewFeedback {
        let open = self.criteria.iter().filter(|entry| entry.is_open());
        let unmet = open.map(|entry| ReviewIssue {
            // What is missing is part of the issue: a requirement that is met in part is progress.
            description: match entry.evidence.trim() {
                "" => format!("requirement {} is not met", entry.number),
                missing => format!("requirement {} is not met: {missing}", entry.number),
            },
            file_location: String::new(),
            how_to_fix: entry.evidence.clone(),
        });
        ReviewFeedback {
            verdict: self.verdict,
            critical_issues: self.critical_issues.iter().cloned().chain(unmet).collect(),
            major_issues: self.major_issues.clone(),
            minor_issues: self.minor_issues.clone(),
            summary: self.summary.clone(),
        }
    }
}

/// Which requirements a report leaves out because of the scope, as lines for people.
pub fn describe_left_out(report: &ReviewReport) -> Vec<String> {
    let left_out = report.criteria.iter().filter(|entry| entry.is_out_of_scope);
    left_out
        .map(|entry| {
            format!("requirement {} is out of scope: {}", entry.number, entry.evidence.trim())
        })
        .collect()
}

/// A review with what the gate knows beside it.
#[derive(Debug, Clone, Copy)]
pub struct ReviewRound<'a> {
    pub feedback: &'a ReviewFeedback,
    /// The feedback of the round before.
    pub previous: Option<&'a ReviewFeedback>,
    /// How often the unit was sent back so far.
    pub revisions: u32,
    pub max_revisions: u32,
    /// Whether minor issues are kept from the agent.
    pub skip_minor: bool,
}

/// What follows from a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateDecision {
    /// The unit is approved; the notes are minor issues.
    Approve { notes: Vec<String> },
    /// The unit is sent back with this feedback.
    Revise { feedback: ReviewFeedback },
    /// A person decides.
    AskPerson { reason: String, notes: Vec<String> },
}

/// Decides what follows from a review.
pub fn decide_review(round: &ReviewRound<'_>) -> GateDecision {
    let feedback = round.feedback;
    let blocking = || feedback.critical_issues.iter().chain(&feedback.major_issues);
    if blocking().next().is_none() {
        return GateDecision::Approve { notes: describe_issues(&feedback.minor_issues) };
    }
    let notes: Vec<String> = describe_issues(blocking());
    let is_same = |previous: &ReviewFeedback| {
        let before: Vec<String> =
            describe_issues(previous.critical_issues.iter().chain(&previous.major_issues));
        notes.iter().all(|note| before.contains(note)) && notes.len() >= before.len()
    };
    if round.previous.is_some_and(is_same) {
        let reason = "the last revision changed nothing about the open issues".to_owned();
        return GateDecision::AskPerson { reason, notes };
    }
    if round.revisions < round.max_revisions || cynode_fault::fault!("PMO-11") {
        let feedback =
            if round.skip_minor { feedback.clone().without_minor() } else { feedback.clone() };
        return GateDecision::Revise { feedback };
    }
    let rounds = match round.max_revisions {
        1 => "1 revision".to_owned(),
        count => format!("{count} revisions"),
    };
    GateDecision::AskPerson { reason: format!("issues are open after {rounds}"), notes }
}

/// Issues as lines for people.
pub fn describe_issues<'a>(issues: impl IntoIterator<Item = &'a ReviewIssue>) -> Vec<String> {
    let line = |issue: &ReviewIssue| match issue.file_location.as_str() {
        "" => issue.description.clone(),
        location => format!("{location}: {}", issue.description),
    };
    issues.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issue(text: &str) -> ReviewIssue {
        let (description, file_location) = (text.to_owned(), "src/a.rs:1".to_owned());
        ReviewIssue { description, file_location, how_to_fix: "fix it".to_owned() }
    }

    fn feedback(critical: &[&str], minor: &[&str]) -> ReviewFeedback {
        let issues = |texts: &[&str]| texts.iter().map(|text| issue(text)).collect();
        ReviewFeedback {
            verdict: if critical.is_empty() {
                Verdict::Approved
            } else {
                Verdict::ChangesRequested
            },
            critical_issues: issues(critical),
            major_issues: vec![],
            minor_issues: issues(minor),
            summary: "read".to_owned(),
        }
    }

    const fn all_of(requirements: usize) -> ReviewScope {
        ReviewScope { requirements, is_reduced: false }
    }

    fn decide(
        feedback: &ReviewFeedback,
        previous: Option<&ReviewFeedback>,
        revisions: u32,
    ) -> GateDecision {
        decide_review(&ReviewRound {
            feedback,
            previous,
            revisions,
            max_revisions: 2,
            skip_minor: true,
        })
    }

    #[test]
    fn minor_issues_are_noted_and_never_send_work_back() {
        let decided = decide(&feedback(&[], &["a name"]), None, 0);

        assert_eq!(decided, GateDecision::Approve { notes: vec!["src/a.rs:1: a name".to_owned()] });
    }

    #[test]
    fn two_revisions_are_granted_and_then_a_person_decides() {
        let (first, second, third) =
            (feedback(&["a"], &["m"]), feedback(&["b"], &[]), feedback(&["c"], &[]));

        let GateDecision::Revise { feedback } = decide(&first, None, 0) else { panic!() };
        assert_eq!((feedback.critical_issues.len(), feedback.minor_issues.len()), (1, 0));
        assert!(matches!(decide(&second, Some(&first), 1), GateDecision::Revise { .. }));
        let GateDecision::AskPerson { reason, notes } = decide(&third, Some(&second), 2) else {
            panic!()
        };
        assert_eq!((reason.as_str(), notes.len()), ("issues are open after 2 revisions", 1));
    }

    #[test]
    fn the_same_issues_again_are_no_progress() {
        let first = feedback(&["a", "b"], &[]);
        let fewer = feedback(&["a"], &[]);

        assert!(matches!(decide(&first, Some(&first), 1), GateDecision::AskPerson { .. }));
        assert!(matches!(decide(&fewer, Some(&first), 1), GateDecision::Revise { .. }));
    }

    #[test]
    fn another_part_of_a_requirement_that_is_missing_is_progress() {
        let report = |missing: &str| {
            let criteria = format!(r#"[{{"number":1,"isMet":false,"evidence":"{missing}"}}]"#);
            let text = format!(
                r#"{{"verdict":"changes_requested","criteria":{criteria},"summary":"open"}}"#
            );
            ReviewReport::parse(&text, all_of(1)).unwrap().to_feedback()
        };
        let (first, second) = (report("there is no toggle"), report("the choice is lost"));

        assert!(matches!(decide(&second, Some(&first), 1), GateDecision::Revise { .. }));
        let GateDecision::AskPerson { reason, notes } = decide(&second, Some(&second), 1) else {
            panic!()
        };
        assert!(reason.contains("changed nothing"), "{reason}");
        assert_eq!(notes, ["requirement 1 is not met: the choice is lost"]);
    }

    #[test]
    fn a_report_that_judges_too_little_or_contradicts_itself_is_not_accepted() {
        let parse = |text: &str| {
            ReviewReport::parse(text, all_of(2))
                .map_err(|fault| fault.contains("requirement") || fault.contains("approves"))
        };
        let met = r#"{"number":1,"isMet":true,"evidence":"a.rs:3"},{"number":2,"isMet":true,"evidence":"b.rs:1"}"#;

        assert!(
            parse(&format!(r#"{{"verdict":"approved","criteria":[{met}],"summary":"fine"}}"#))
                .is_ok()
        );
        for bad in [
            r#"{"verdict":"approved","summary":"fine"}"#.to_owned(),
            r#"{"verdict":"approved","criteria":[{"number":1,"isMet":true},{"number":2,"isMet":true,"evidence":"x"}],"summary":"fine"}"#.to_owned(),
            format!(r#"{{"verdict":"approved","criteria":[{met}],"majorIssues":[{{"description":"d","howToFix":"f"}}],"summary":"fine"}}"#),
        ] {
            assert_eq!(parse(&bad), Err(true), "{bad}");
        }
        assert!(ReviewReport::parse("{}", all_of(0)).is_err());
    }

    #[test]
    fn a_requirement_is_out_of_scope_only_if_an_instruction_reduced_the_scope() {
        let approved = |second: &str| {
            format!(
                r#"{{"verdict":"approved","criteria":[{{"number":1,"isMet":true,"evidence":"a.rs:3"}},{{"number":2,{second}}}],"summary":"fine"}}"#
            )
        };
        let reduced = ReviewScope { requirements: 2, is_reduced: true };
        let left_out =
            approved(r#""isMet":false,"isOutOfScope":true,"evidence":"Do less: no animation""#);

        let report = ReviewReport::parse(&left_out, reduced).unwrap();

        assert_eq!(report.to_feedback().critical_issues, []);
        assert_eq!(
            describe_left_out(&report),
            ["requirement 2 is out of scope: Do less: no animation"]
        );
        let fault = ReviewReport::parse(&left_out, all_of(2)).unwrap_err();
        assert!(fault.contains("the scope was not reduced"), "{fault}");
        for bad in [
            r#""isMet":false,"isOutOfScope":true"#,
            r#""isMet":true,"isOutOfScope":true,"evidence":"a.rs:1""#,
            r#""isMet":false,"evidence":"missing""#,
        ] {
            assert!(ReviewReport::parse(&approved(bad), reduced).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_open_requirement_reaches_the_doer_as_a_critical_issue() {
        let report = ReviewReport {
            verdict: Verdict::ChangesRequested,
            criteria: vec![CriterionEvidence {
                number: 1,
                is_met: false,
                is_out_of_scope: false,
                evidence: "no toggle".to_owned(),
            }],
            critical_issues: vec![],
            major_issues: vec![],
            minor_issues: vec![],
            summary: "incomplete".to_owned(),
        };

        assert_eq!(report.to_feedback().critical_issues[0].how_to_fix, "no toggle");
    }
}
