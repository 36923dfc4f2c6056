//! Acceptance criteria, and the rule-based judgement of a step's evidence against them.
//!
//! Start at [`judge`]. A criterion in prose cannot be checked by rule: it is carried into the
//! verdict as unchecked and never silently counts as met.

use serde::{Deserialize, Serialize};

use crate::job::Ending;
use crate::verdict::{Finding, Verdict, VerdictStatus};

/// One condition that a task's result must meet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Criterion {
    /// Prose for a reader; no rule can check it.
    Text {
        /// What must be true.
        description: String,
    },
    /// The command ends with this exit code (0 is demanded when no such criterion is given).
    ExitCode {
        /// The code.
        equals: i32,
    },
    /// Standard output matches a regular expression.
    OutputMatches {
        /// The expression.
        pattern: String,
    },
    /// An artifact with this path exists.
    FileExists {
        /// The path, relative to the artifacts directory.
        path: String,
    },
}

impl Criterion {
    /// What is wrong with this criterion, before any work is done for it.
    pub fn problem(&self) -> Option<String> {
        match self {
            Self::OutputMatches { pattern } => compile(pattern).err().map(|error| {
                format!("acceptance criterion: \"{pattern}\" is no regular expression: {error}")
            }),
            Self::FileExists { path } if path.is_empty() => {
                Some("acceptance criterion: file_exists needs a path".to_owned())
            }
            Self::Text { .. } | Self::ExitCode { .. } | Self::FileExists { .. } => None,
        }
    }
}

/// What is known about a step that ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Evidence {
    /// How the job ended.
    pub ending: Ending,
    /// The kept part of standard output.
    pub stdout: String,
    /// The paths of the task's artifacts.
    pub artifacts: Vec<String>,
}

/// Judges a step: how it ended, the outputs it owed, and, for the last step, the task's criteria.
pub fn judge(evidence: &Evidence, owed: &[String], criteria: &[Criterion]) -> Verdict {
    let mut findings = vec![judge_ending(evidence, criteria)];
    findings.extend(owed.iter().map(|path| judge_file(evidence, path)));
    findings.extend(criteria.iter().filter_map(|criterion| match criterion {
        Criterion::ExitCode { .. } => None,
        Criterion::FileExists { path } => Some(judge_file(evidence, path)),
        Criterion::OutputMatches { pattern } => Some(judge_output(evidence, pattern)),
        Criterion::Text { description } => Some(Finding::unchecked(description)),
    }));
    let failed = findings.iter().any(Finding::is_failure);
    Verdict {
        status: if failed { VerdictStatus::Fail } else { VerdictStatus::Pass },
        findings,
        recommended_actions: vec![],
    }
}

fn judge_ending(evidence: &Evidence, criteria: &[Criterion]) -> Finding {
    let wanted = criteria.iter().find_map(|criterion| match criterion {
        Criterion::ExitCode { equals } => Some(*equals),
        Criterion::Text { .. } | Criterion::OutputMatches { .. } | Criterion::FileExists { .. } => {
            None
        }
    });
    let wanted = Ending::Exited { code: wanted.unwrap_or(0) };
    let message = format!("the command {}", evidence.ending.describe());
    Finding::of("exit_code", evidence.ending == wanted, message)
}

fn judge_file(evidence: &Evidence, path: &str) -> Finding {
    let exists = evidence.artifacts.iter().any(|artifact| artifact == path);
    let verb = if exists { "exists" } else { "is missing" };
    Finding::of("file_exists", exists, format!("artifact {path} {verb}"))
}

fn judge_output(evidence: &Evidence, pattern: &str) -> Finding {
    match compile(pattern) {
        Ok(expression) => {
            let matches = expression.is_match(&evidence.stdout);
            let verb = if matches { "matches" } else { "does not match" };
            Finding::of("output_matches", matches, format!("standard output {verb} {pattern}"))
        }
        Err(error) => Finding::of("output_matches", false, format!("{pattern}: {error}")),
    }
}

/// Expressions come from users: the size limit bounds what one of them can cost.
fn compile(pattern: &str) -> Result<regex::Regex, regex::Error> {
    regex::RegexBuilder::new(pattern).size_limit(1 << 20).build()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(code: i32, stdout: &str) -> Evidence {
        Evidence {
            ending: Ending::Exited { code },
            stdout: stdout.to_owned(),
            artifacts: vec!["report.txt".to_owned()],
        }
    }

    fn status(evidence: &Evidence, criteria: &[Criterion]) -> VerdictStatus {
        judge(evidence, &[], criteria).status
    }

    #[test]
    fn without_criteria_exit_code_zero_passes_and_any_other_fails() {
        assert_eq!(status(&evidence(0, ""), &[]), VerdictStatus::Pass);
        assert_eq!(status(&evidence(3, ""), &[]), VerdictStatus::Fail);
    }

    #[test]
    fn a_task_may_demand_a_failing_exit_code() {
        let criteria = [Criterion::ExitCode { equals: 3 }];

        assert_eq!(status(&evidence(3, ""), &criteria), VerdictStatus::Pass);
        assert_eq!(status(&evidence(0, ""), &criteria), VerdictStatus::Fail);
    }

    #[test]
    fn output_and_files_are_checked() {
        let output = [Criterion::OutputMatches { pattern: "^ok$".to_owned() }];
        let file = [Criterion::FileExists { path: "missing.txt".to_owned() }];

        assert_eq!(status(&evidence(0, "ok"), &output), VerdictStatus::Pass);
        assert_eq!(status(&evidence(0, "not ok"), &output), VerdictStatus::Fail);
        assert_eq!(status(&evidence(0, ""), &file), VerdictStatus::Fail);
    }

    #[test]
    fn an_owed_output_that_is_missing_fails_the_step() {
        let verdict = judge(&evidence(0, ""), &["missing.txt".to_owned()], &[]);

        assert_eq!(verdict.status, VerdictStatus::Fail);
        assert_eq!(verdict.first_failure(), Some("artifact missing.txt is missing"));
    }

    #[test]
    fn prose_is_carried_as_unchecked() {
        let criteria = [Criterion::Text { description: "reads well".to_owned() }];

        let verdict = judge(&evidence(0, ""), &[], &criteria);

        assert_eq!(verdict.status, VerdictStatus::Pass);
        assert_eq!(verdict.findings[1], Finding::unchecked("reads well"));
    }

    #[test]
    fn a_broken_expression_is_a_problem_before_work_starts() {
        let criterion = Criterion::OutputMatches { pattern: "(".to_owned() };

        assert!(criterion.problem().unwrap().contains("is no regular expression"));
    }
}
