//! Acceptance criteria, and the rule-based evaluation of a step's evidence against them.
//!
//! Start at [`evaluate_step`]. A prose criterion cannot be checked by rule: the verdict lists it as unchecked,
//! and it never silently counts as met. [`refine_prose()`] converts unambiguous prose to a checkable criterion.

mod change;
mod refine;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use self::change::{CriteriaWeakening, check_agent_change};
pub use self::refine::{refine_criteria, refine_prose};
use crate::job::JobEnding;
use crate::verdict::{Finding, Verdict, VerdictStatus};

/// One condition that a task's result must meet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Criterion {
    /// Prose; no rule can check it.
    Text {
        /// What must be true.
        description: String,
    },
    /// The command exits with this code (0 is required without such a criterion).
    ExitCode {
        /// The code.
        equals: i32,
    },
    /// Standard output matches a regular expression. `^` and `$` match its start and end, `$` also before
    /// the final line break; with `(?m)` they match the start and end of each line.
    OutputMatches {
        /// The expression.
        pattern: String,
    },
    /// An artifact with this path exists.
    FileExists {
        /// The path, relative to the artifacts directory.
        path: String,
    },
    /// A command exits with code 0. It runs in its own sandbox in the task's workspace once the last
    /// step has met every other criterion.
    CommandSucceeds {
        /// The line for `/bin/sh -c`.
        command: String,
    },
}

impl Criterion {
    /// Standard output is this text, with or without a final line break.
    pub fn exact_output(text: &str) -> Self {
        Self::OutputMatches { pattern: format!("^{}$", regex::escape(text)) }
    }

    /// Validates the criterion before any work starts; returns the error.
    pub fn problem(&self) -> Option<String> {
        match self {
            Self::OutputMatches { pattern } => compile_pattern(pattern).err().map(|error| {
                format!(
                    "acceptance criterion: \"{pattern}\" is not a valid regular expression: {error}"
                )
            }),
            Self::FileExists { path } if path.is_empty() => {
                Some("acceptance criterion: file_exists needs a path".to_owned())
            }
            Self::CommandSucceeds { command } if command.trim().is_empty() => {
                Some("acceptance criterion: command_succeeds needs a command".to_owned())
            }
            Self::Text { .. }
            | Self::ExitCode { .. }
            | Self::FileExists { .. }
            | Self::CommandSucceeds { .. } => None,
        }
    }
}

impl fmt::Display for Criterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text { description } => write!(f, "{description}"),
            Self::ExitCode { equals } => write!(f, "exit:{equals}"),
            Self::OutputMatches { pattern } => write!(f, "output:/{pattern}/"),
            Self::FileExists { path } => write!(f, "file:{path}"),
            Self::CommandSucceeds { command } => write!(f, "check:{command}"),
        }
    }
}

/// The evidence of an ended step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Evidence {
    /// How the job ended.
    pub ending: JobEnding,
    /// The stored part of standard output.
    pub stdout: String,
    /// The stored part of standard error.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    /// Paths of the files that count: those of this attempt and, for the last step, those of the accepted
    /// attempts of earlier steps of the same run.
    pub artifacts: Vec<String>,
    /// Paths of the task's files that do not count: they come from failed attempts, other runs, checks
    /// or agents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stale: Vec<String>,
    /// The check commands that ran, and how they ended.
    #[serde(default)]
    pub checks: Vec<Check>,
}

/// A check command that ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Check {
    /// The line for `/bin/sh -c`.
    pub command: String,
    /// How it ended.
    pub ending: JobEnding,
}

/// Evaluates a step: its ending, its expected outputs and, for the last step, the task's criteria.
///
/// A check that did not run stays unchecked: call [`next_check`] first.
pub fn evaluate_step(evidence: &Evidence, owed: &[String], criteria: &[Criterion]) -> Verdict {
    let mut findings = vec![evaluate_ending(evidence, criteria)];
    findings.extend(owed.iter().map(|path| evaluate_file(evidence, path)));
    findings.extend(criteria.iter().filter_map(|criterion| match criterion {
        Criterion::ExitCode { .. } => None,
        Criterion::FileExists { path } => Some(evaluate_file(evidence, path)),
        Criterion::OutputMatches { pattern } => Some(evaluate_output(evidence, pattern)),
        Criterion::CommandSucceeds { command } => Some(evaluate_check(evidence, command)),
        Criterion::Text { description } => Some(Finding::unchecked(description)),
    }));
    Verdict::from_findings(findings)
}

/// The next check command to run before the step can be evaluated; `None` if the evidence suffices,
/// which includes any failure.
pub fn next_check<'a>(
    evidence: &Evidence,
    owed: &[String],
    criteria: &'a [Criterion],
) -> Option<&'a str> {
    if evaluate_step(evidence, owed, criteria).status == VerdictStatus::Fail {
        return None;
    }
    let mut commands = criteria.iter().filter_map(|criterion| {
        let Criterion::CommandSucceeds { command } = criterion else { return None };
        Some(command.as_str())
    });
    commands.find(|command| find_check(evidence, command).is_none())
}

fn find_check<'a>(evidence: &'a Evidence, command: &str) -> Option<&'a Check> {
    evidence.checks.iter().find(|check| check.command == command)
}

fn evaluate_ending(evidence: &Evidence, criteria: &[Criterion]) -> Finding {
    let wanted = criteria.iter().find_map(|criterion| {
        let Criterion::ExitCode { equals } = criterion else { return None };
        Some(*equals)
    });
    let code = wanted.unwrap_or(0);
    let message = format!("the command {}", evidence.ending.describe());
    Finding::from_rule("exit_code", evidence.ending == JobEnding::Exited { code }, message)
        .with_suggestion(|| format!("make the command exit with code {code}"))
}

fn evaluate_file(evidence: &Evidence, path: &str) -> Finding {
    let has = |paths: &[String]| paths.iter().any(|artifact| artifact == path);
    let exists = has(&evidence.artifacts);
    let message = if exists {
        format!("artifact {path} exists")
    } else {
        let hint = if has(&evidence.stale) {
            ": an earlier attempt or another run created one, but this attempt did not"
        } else {
            "; copy it there"
        };
        format!("{path} was not found in `$CYNODE_ARTIFACTS_DIR`{hint}")
    };
    Finding::from_rule("file_exists", exists, message)
        .with_suggestion(|| format!("copy {path} to `$CYNODE_ARTIFACTS_DIR`"))
}

fn evaluate_output(evidence: &Evidence, pattern: &str) -> Finding {
    match compile_pattern(pattern) {
        Ok(expression) => {
            let matches = is_output_match(&expression, &evidence.stdout);
            let verb = if matches { "matches" } else { "does not match" };
            Finding::from_rule(
                "output_matches",
                matches,
                format!("standard output {verb} {pattern}"),
            )
            .with_suggestion(|| format!("print output that matches {pattern}"))
        }
        Err(error) => Finding::from_rule("output_matches", false, format!("{pattern}: {error}")),
    }
}

fn evaluate_check(evidence: &Evidence, command: &str) -> Finding {
    const RULE: &str = "command_succeeds";
    let Some(Check { ending, .. }) = find_check(evidence, command) else {
        let message = format!("the check \"{command}\" was not run");
        return Finding { rule: RULE.to_owned(), ..Finding::unchecked(&message) };
    };
    let message = format!("the check \"{command}\" {}", ending.describe());
    Finding::from_rule(RULE, ending.is_success(), message)
        .with_suggestion(|| format!("make the check \"{command}\" exit with code 0"))
}

/// Whether a step that prints this output meets the pattern; `false` if the pattern is invalid.
pub fn output_matches(pattern: &str, stdout: &str) -> bool {
    compile_pattern(pattern).is_ok_and(|expression| is_output_match(&expression, stdout))
}

fn is_output_match(expression: &regex::Regex, stdout: &str) -> bool {
    expression.is_match(stdout) || expression.is_match(strip_final_newline(stdout))
}

/// Strips the final line break: the output of `echo ok` is "ok".
fn strip_final_newline(output: &str) -> &str {
    let output = output.strip_suffix('\n').unwrap_or(output);
    output.strip_suffix('\r').unwrap_or(output)
}

/// Patterns are user input: the size limit bounds their cost.
fn compile_pattern(pattern: &str) -> Result<regex::Regex, regex::Error> {
    regex::RegexBuilder::new(pattern).size_limit(1 << 20).build()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(code: i32, stdout: &str) -> Evidence {
        Evidence {
            ending: JobEnding::Exited { code },
            stdout: stdout.to_owned(),
            stderr: String::new(),
            artifacts: vec!["report.txt".to_owned()],
            stale: vec!["old.txt".to_owned()],
            checks: vec![],
        }
    }

    fn status(evidence: &Evidence, criteria: &[Criterion]) -> VerdictStatus {
        evaluate_step(evidence, &[], criteria).status
    }

    #[test]
    fn an_exact_output_is_matched_literally() {
        for text in ["cynode/fix-1", "a+b(c)|$x", "fix#12", "a'b\"c<d>"] {
            let Criterion::OutputMatches { pattern } = Criterion::exact_output(text) else {
                panic!("{text}")
            };
            assert!(output_matches(&pattern, &format!("{text}\n")), "{pattern}");
            assert!(!output_matches(&pattern, &format!("{text}x")), "{pattern}");
        }
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
    fn a_pattern_for_the_whole_output_matches_before_its_last_line_break_only() {
        for (pattern, stdout, expected) in [
            ("^ok$", "ok\n", VerdictStatus::Pass),
            ("^ok$", "ok\r\n", VerdictStatus::Pass),
            ("ok\n", "ok\n", VerdictStatus::Pass),
            ("^one\ntwo$", "one\ntwo\n", VerdictStatus::Pass),
            ("(?m)^ok$", "error\nok\n", VerdictStatus::Pass),
            ("^ok$", "error\nok\n", VerdictStatus::Fail),
            ("^ok$", "ok\n\n", VerdictStatus::Fail),
            ("^ok$", "ok\nnot\n", VerdictStatus::Fail),
            ("^[^E]*$", "fine\nError\n", VerdictStatus::Fail),
        ] {
            let criteria = [Criterion::OutputMatches { pattern: pattern.to_owned() }];
            assert_eq!(status(&evidence(0, stdout), &criteria), expected, "{pattern} {stdout:?}");
        }
    }

    #[test]
    fn an_owed_output_that_is_missing_fails_the_step() {
        let verdict = evaluate_step(&evidence(0, ""), &["missing.txt".to_owned()], &[]);

        assert_eq!(verdict.status, VerdictStatus::Fail);
        let expected = "missing.txt was not found in `$CYNODE_ARTIFACTS_DIR`; copy it there";
        assert_eq!(verdict.first_failure(), Some(expected));
    }

    #[test]
    fn a_file_that_this_attempt_did_not_make_is_missing_and_the_verdict_says_that_one_exists() {
        let verdict = evaluate_step(&evidence(0, ""), &["old.txt".to_owned()], &[]);

        assert_eq!(verdict.status, VerdictStatus::Fail);
        let said = verdict.first_failure().unwrap();
        assert!(said.starts_with("old.txt was not found in"), "{said}");
        assert!(said.contains("an earlier attempt or another run"), "{said}");
    }

    #[test]
    fn prose_is_carried_as_unchecked() {
        let criteria = [Criterion::Text { description: "reads well".to_owned() }];

        let verdict = evaluate_step(&evidence(0, ""), &[], &criteria);

        assert_eq!(verdict.status, VerdictStatus::Unclear);
        assert_eq!(verdict.findings[1], Finding::unchecked("reads well"));
    }

    #[test]
    fn a_broken_expression_is_a_problem_before_work_starts() {
        let criterion = Criterion::OutputMatches { pattern: "(".to_owned() };

        assert!(criterion.problem().unwrap().contains("is not a valid regular expression"));
    }

    #[test]
    fn what_failed_says_what_would_put_it_right() {
        let verdict = evaluate_step(&evidence(3, ""), &["missing.txt".to_owned()], &[]);

        let expected =
            ["make the command exit with code 0", "copy missing.txt to `$CYNODE_ARTIFACTS_DIR`"];
        assert_eq!(verdict.recommended_actions, expected);
    }

    #[test]
    fn checks_are_run_one_after_the_other_until_one_fails() {
        let criteria = ["one", "two"].map(|command| {
            let command = command.to_owned();
            Criterion::CommandSucceeds { command }
        });
        let checked = |evidence: &mut Evidence, command: &str, code| {
            let (command, ending) = (command.to_owned(), JobEnding::Exited { code });
            evidence.checks.push(Check { command, ending });
        };
        let mut seen = evidence(0, "");
        assert_eq!(next_check(&seen, &[], &criteria), Some("one"));
        checked(&mut seen, "one", 0);
        assert_eq!(next_check(&seen, &[], &criteria), Some("two"));
        checked(&mut seen, "two", 1);
        assert_eq!(next_check(&seen, &[], &criteria), None);

        let verdict = evaluate_step(&seen, &[], &criteria);

        assert_eq!(verdict.first_failure(), Some("the check \"two\" exited with code 1"));
    }

    #[test]
    fn a_step_that_failed_is_not_checked_any_further() {
        let command = "make test".to_owned();
        let criteria = [Criterion::CommandSucceeds { command }];

        assert_eq!(next_check(&evidence(1, ""), &[], &criteria), None);
        let verdict = evaluate_step(&evidence(1, ""), &[], &criteria);
        assert_eq!(verdict.findings[1].message, "the check \"make test\" was not run");
    }
}
