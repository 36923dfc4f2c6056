//! Acceptance criteria, and the rule-based judgement of a step's evidence against them.
//!
//! Start at [`judge`]. A criterion in prose cannot be checked by rule: it is carried into the
//! verdict as unchecked and never silently counts as met. [`refine()`] makes a checkable one of prose that
//! leaves no doubt.

mod change;
mod refine;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use self::change::{Weakening, check_agents_change};
pub use self::refine::{refine, sharpened};
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
    /// Standard output matches a regular expression. `^` and `$` are its beginning and its end, where `$`
    /// also matches before the last line break; with `(?m)` they are those of each line.
    OutputMatches {
        /// The expression.
        pattern: String,
    },
    /// An artifact with this path exists.
    FileExists {
        /// The path, relative to the artifacts directory.
        path: String,
    },
    /// A command exits with code 0, run in a sandbox of its own in the task's workspace once the
    /// last step has met every other criterion.
    CommandSucceeds {
        /// The line for `/bin/sh -c`.
        command: String,
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

/// What is known about a step that ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Evidence {
    /// How the job ended.
    pub ending: Ending,
    /// The kept part of standard output.
    pub stdout: String,
    /// The kept part of standard error.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    /// The paths of the files that count: those that this attempt made and, for the last step, those of
    /// the accepted attempts at earlier steps of the same run.
    pub artifacts: Vec<String>,
    /// The paths of files that the task has and that do not count: failed attempts, other runs, checks
    /// and agents left them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stale: Vec<String>,
    /// The commands that were run to check the result, and how they ended.
    #[serde(default)]
    pub checks: Vec<Check>,
}

/// A command that was run to check a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Check {
    /// The line for `/bin/sh -c`.
    pub command: String,
    /// How it ended.
    pub ending: Ending,
}

/// Judges a step: how it ended, the outputs it owed, and, for the last step, the task's criteria.
///
/// A check that was not run decides nothing: ask [`next_check`] first.
pub fn judge(evidence: &Evidence, owed: &[String], criteria: &[Criterion]) -> Verdict {
    let mut findings = vec![judge_ending(evidence, criteria)];
    findings.extend(owed.iter().map(|path| judge_file(evidence, path)));
    findings.extend(criteria.iter().filter_map(|criterion| match criterion {
        Criterion::ExitCode { .. } => None,
        Criterion::FileExists { path } => Some(judge_file(evidence, path)),
        Criterion::OutputMatches { pattern } => Some(judge_output(evidence, pattern)),
        Criterion::CommandSucceeds { command } => Some(judge_check(evidence, command)),
        Criterion::Text { description } => Some(Finding::unchecked(description)),
    }));
    Verdict::of(findings)
}

/// The command that must be run before the step can be judged; none when enough is known, as it is
/// once anything has failed.
pub fn next_check<'a>(
    evidence: &Evidence,
    owed: &[String],
    criteria: &'a [Criterion],
) -> Option<&'a str> {
    if judge(evidence, owed, criteria).status == VerdictStatus::Fail {
        return None;
    }
    let mut commands = criteria.iter().filter_map(|criterion| {
        let Criterion::CommandSucceeds { command } = criterion else { return None };
        Some(command.as_str())
    });
    commands.find(|command| check_of(evidence, command).is_none())
}

fn check_of<'a>(evidence: &'a Evidence, command: &str) -> Option<&'a Check> {
    evidence.checks.iter().find(|check| check.command == command)
}

fn judge_ending(evidence: &Evidence, criteria: &[Criterion]) -> Finding {
    let wanted = criteria.iter().find_map(|criterion| {
        let Criterion::ExitCode { equals } = criterion else { return None };
        Some(*equals)
    });
    let code = wanted.unwrap_or(0);
    let message = format!("the command {}", evidence.ending.describe());
    Finding::of("exit_code", evidence.ending == Ending::Exited { code }, message)
        .or(|| format!("make the command exit with code {code}"))
}

fn judge_file(evidence: &Evidence, path: &str) -> Finding {
    let has = |paths: &[String]| paths.iter().any(|artifact| artifact == path);
    let exists = has(&evidence.artifacts);
    let state = if exists {
        "exists"
    } else if has(&evidence.stale) {
        "is missing: an earlier attempt or another run left one, and this attempt did not make it"
    } else {
        "is missing"
    };
    Finding::of("file_exists", exists, format!("artifact {path} {state}"))
        .or(|| format!("leave {path} in the artifacts directory"))
}

fn judge_output(evidence: &Evidence, pattern: &str) -> Finding {
    match compile(pattern) {
        Ok(expression) => {
            let (whole, trimmed) = (evidence.stdout.as_str(), without_last_break(&evidence.stdout));
            let matches = expression.is_match(whole) || expression.is_match(trimmed);
            let verb = if matches { "matches" } else { "does not match" };
            Finding::of("output_matches", matches, format!("standard output {verb} {pattern}"))
                .or(|| format!("print what matches {pattern}"))
        }
        Err(error) => Finding::of("output_matches", false, format!("{pattern}: {error}")),
    }
}

fn judge_check(evidence: &Evidence, command: &str) -> Finding {
    const RULE: &str = "command_succeeds";
    let Some(Check { ending, .. }) = check_of(evidence, command) else {
        let message = format!("the check \"{command}\" was not run");
        return Finding { rule: RULE.to_owned(), ..Finding::unchecked(&message) };
    };
    let message = format!("the check \"{command}\" {}", ending.describe());
    Finding::of(RULE, ending.is_success(), message)
        .or(|| format!("make the check \"{command}\" exit with code 0"))
}

/// The output as a person reads it: what `echo ok` prints is "ok".
fn without_last_break(output: &str) -> &str {
    let output = output.strip_suffix('\n').unwrap_or(output);
    output.strip_suffix('\r').unwrap_or(output)
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
            stderr: String::new(),
            artifacts: vec!["report.txt".to_owned()],
            stale: vec!["old.txt".to_owned()],
            checks: vec![],
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
        let verdict = judge(&evidence(0, ""), &["missing.txt".to_owned()], &[]);

        assert_eq!(verdict.status, VerdictStatus::Fail);
        assert_eq!(verdict.first_failure(), Some("artifact missing.txt is missing"));
    }

    #[test]
    fn a_file_that_this_attempt_did_not_make_is_missing_and_the_verdict_says_that_one_exists() {
        let verdict = judge(&evidence(0, ""), &["old.txt".to_owned()], &[]);

        assert_eq!(verdict.status, VerdictStatus::Fail);
        let said = verdict.first_failure().unwrap();
        assert!(said.starts_with("artifact old.txt is missing: an earlier attempt"), "{said}");
    }

    #[test]
    fn prose_is_carried_as_unchecked() {
        let criteria = [Criterion::Text { description: "reads well".to_owned() }];

        let verdict = judge(&evidence(0, ""), &[], &criteria);

        assert_eq!(verdict.status, VerdictStatus::Unclear);
        assert_eq!(verdict.findings[1], Finding::unchecked("reads well"));
    }

    #[test]
    fn a_broken_expression_is_a_problem_before_work_starts() {
        let criterion = Criterion::OutputMatches { pattern: "(".to_owned() };

        assert!(criterion.problem().unwrap().contains("is no regular expression"));
    }

    #[test]
    fn what_failed_says_what_would_put_it_right() {
        let verdict = judge(&evidence(3, ""), &["missing.txt".to_owned()], &[]);

        let expected =
            ["make the command exit with code 0", "leave missing.txt in the artifacts directory"];
        assert_eq!(verdict.recommended_actions, expected);
    }

    #[test]
    fn checks_are_run_one_after_the_other_until_one_fails() {
        let criteria = ["one", "two"].map(|command| {
            let command = command.to_owned();
            Criterion::CommandSucceeds { command }
        });
        let checked = |evidence: &mut Evidence, command: &str, code| {
            let (command, ending) = (command.to_owned(), Ending::Exited { code });
            evidence.checks.push(Check { command, ending });
        };
        let mut seen = evidence(0, "");
        assert_eq!(next_check(&seen, &[], &criteria), Some("one"));
        checked(&mut seen, "one", 0);
        assert_eq!(next_check(&seen, &[], &criteria), Some("two"));
        checked(&mut seen, "two", 1);
        assert_eq!(next_check(&seen, &[], &criteria), None);

        let verdict = judge(&seen, &[], &criteria);

        assert_eq!(verdict.first_failure(), Some("the check \"two\" exited with code 1"));
    }

    #[test]
    fn a_step_that_failed_is_not_checked_any_further() {
        let command = "make test".to_owned();
        let criteria = [Criterion::CommandSucceeds { command }];

        assert_eq!(next_check(&evidence(1, ""), &[], &criteria), None);
        let verdict = judge(&evidence(1, ""), &[], &criteria);
        assert_eq!(verdict.findings[1].message, "the check \"make test\" was not run");
    }
}
