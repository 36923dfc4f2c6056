//! Renders the checks of a task's commands for people.

use cynode_domain::verification::{CheckResult, Judge, VerificationStatus};
use cynode_wire::checks::{CheckView, StepChecksView};

use cynode_cli::table::truncate;

/// Maximum length of a command.
const COMMAND_CHARS: usize = 120;
const MESSAGE_CHARS: usize = 200;
/// Check name of the exit code, which every command gets.
const EXIT_CODE: &str = "exit_code";

/// A status, marked if the result was not verified.
pub(crate) fn format_status(status: &str, verification: Option<VerificationStatus>) -> String {
    match verification {
        Some(VerificationStatus::Unverified) => format!("{status} (unverified)"),
        Some(VerificationStatus::Verified | VerificationStatus::NotChecked) | None => {
            status.to_owned()
        }
    }
}

/// The verification in words; `None` if it is not recorded.
pub(crate) fn format_verification(verification: Option<VerificationStatus>) -> Option<String> {
    let words = match verification? {
        VerificationStatus::Verified => {
            "verified: every acceptance criterion was judged and is met"
        }
        VerificationStatus::Unverified => {
            "unverified: an acceptance criterion was not judged; a preference accepted the result"
        }
        VerificationStatus::NotChecked => {
            "not checked: no acceptance criteria were given; only exit codes were checked"
        }
    };
    Some(words.to_owned())
}

/// Numbered commands, each with its checks on the lines below.
pub(crate) fn render_checks(steps: &[StepChecksView]) -> Vec<String> {
    steps.iter().flat_map(render_step).collect()
}

fn render_step(step: &StepChecksView) -> Vec<String> {
    let number = step.step_index + 1;
    let attempt =
        if step.attempt > 1 { format!(" (attempt {})", step.attempt) } else { String::new() };
    let mut lines = vec![format!("{number}. {}{attempt}", format_command(&step.command))];
    if step.checks.is_empty() {
        let words =
            if step.status.is_terminal() { "no verdict recorded" } else { "not judged yet" };
        lines.push(format!("   - {words} (job {})", step.status));
    }
    lines.extend(step.checks.iter().map(render_check));
    if let [only] = step.checks.as_slice()
        && only.check == EXIT_CODE
    {
        lines.push("   - nothing else was checked".to_owned());
    }
    lines
}

/// The first line of a script after its interpreter line.
fn format_command(text: &str) -> String {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = lines.find(|line| !line.starts_with("#!")).unwrap_or_default();
    let more = lines.count();
    let first = truncate(first, COMMAND_CHARS);
    match more {
        0 => first,
        1 => format!("{first} … (1 more line)"),
        more => format!("{first} … ({more} more lines)"),
    }
}

fn render_check(check: &CheckView) -> String {
    let mark = match check.result {
        CheckResult::Met => "✓",
        CheckResult::NotMet => "✗",
        CheckResult::NotJudged => "?",
    };
    let by = match check.judged_by {
        Some(Judge::Rule) => "met by rule",
        Some(Judge::Analyst) => "met by an analyst",
        Some(Judge::Person) => "met by a person",
        None => "",
    };
    let result = match check.result {
        CheckResult::Met => by.to_owned(),
        CheckResult::NotMet => by.replacen("met", "not met", 1),
        CheckResult::NotJudged => "not judged".to_owned(),
    };
    format!("   {mark} {}: {result}", truncate(&check.message, MESSAGE_CHARS))
}

#[cfg(test)]
mod tests {
    use cynode_domain::ids::JobId;
    use cynode_domain::status::JobStatus;

    use super::*;

    fn check_view(check: &str, result: CheckResult, by: Option<Judge>, message: &str) -> CheckView {
        let (check, message) = (check.to_owned(), message.to_owned());
        CheckView { check, result, judged_by: by, message }
    }

    fn step_view(step_index: u32, command: &str, checks: Vec<CheckView>) -> StepChecksView {
        StepChecksView {
            step_index,
            attempt: 1,
            job_id: JobId::generate(),
            command: command.to_owned(),
            status: JobStatus::Completed,
            checks,
        }
    }

    #[test]
    fn every_command_is_shown_with_every_check_and_who_judged_it() {
        use CheckResult::{Met, NotJudged, NotMet};
        let code = || {
            let message = "the command exited with code 0";
            check_view(EXIT_CODE, Met, Some(Judge::Rule), message)
        };
        let last = vec![
            code(),
            check_view("file_exists", NotMet, Some(Judge::Rule), "artifact out.txt is missing"),
            check_view("text", Met, Some(Judge::Analyst), "it reads well: short sentences"),
            check_view("text", Met, Some(Judge::Person), "it is short (ada accepted it)"),
            check_view("text", NotJudged, None, "it is kind (no model is configured)"),
        ];
        let steps = [
            step_view(0, "make", vec![code()]),
            StepChecksView { attempt: 2, ..step_view(1, "#!/bin/sh\nmake test\nexit 0\n", last) },
            StepChecksView { status: JobStatus::Running, ..step_view(2, "sleep 9", vec![]) },
        ];

        insta::assert_snapshot!(render_checks(&steps).join("\n"), @r"
        1. make
           ✓ the command exited with code 0: met by rule
           - nothing else was checked
        2. make test … (1 more line) (attempt 2)
           ✓ the command exited with code 0: met by rule
           ✗ artifact out.txt is missing: not met by rule
           ✓ it reads well: short sentences: met by an analyst
           ✓ it is short (ada accepted it): met by a person
           ? it is kind (no model is configured): not judged
        3. sleep 9
           - not judged yet (job running)
        ");
    }

    #[test]
    fn only_a_result_that_was_not_verified_changes_its_status() {
        assert_eq!(
            format_status("completed", Some(VerificationStatus::Unverified)),
            "completed (unverified)"
        );
        assert_eq!(format_status("completed", Some(VerificationStatus::NotChecked)), "completed");
        assert_eq!(format_status("failed", None), "failed");
    }
}
