//! Parser for `--accept` and `--accept-step`.

use cynode_domain::criteria::Criterion;
use cynode_domain::plan::StepCriterion;

/// Parses `exit:N`, `output:/regex/`, `file:path` or `check:command`; other text is a criterion in prose.
pub(crate) fn parse(text: &str) -> Result<Criterion, String> {
    let criterion = if let Some(code) = text.strip_prefix("exit:") {
        let equals = code.trim().parse().map_err(|_| format!("\"{code}\" is not an exit code"))?;
        Criterion::ExitCode { equals }
    } else if let Some(pattern) = text.strip_prefix("output:") {
        let inner = pattern.strip_prefix('/').and_then(|rest| rest.strip_suffix('/'));
        Criterion::OutputMatches { pattern: inner.unwrap_or(pattern).to_owned() }
    } else if let Some(path) = text.strip_prefix("file:") {
        Criterion::FileExists { path: path.to_owned() }
    } else if let Some(command) = text.strip_prefix("check:") {
        Criterion::CommandSucceeds { command: command.trim().to_owned() }
    } else if text.trim().is_empty() {
        return Err("the criterion is empty".to_owned());
    } else {
        Criterion::Text { description: text.to_owned() }
    };
    match criterion.problem() {
        Some(problem) => Err(problem),
        None => Ok(criterion),
    }
}

/// Parses `N:CHECK`: the number of a command, from 1, and a check as [`parse`] reads it.
pub(crate) fn parse_for_step(text: &str) -> Result<StepCriterion, String> {
    let (number, check) = text
        .split_once(':')
        .ok_or_else(|| "give the number of the command: 1:CHECK for the first one".to_owned())?;
    let number: Option<u32> = number.trim().parse().ok();
    let step_index = number.and_then(|number| number.checked_sub(1));
    let step_index = step_index
        .ok_or_else(|| "commands are numbered from 1: 1:CHECK for the first one".to_owned())?;
    Ok(StepCriterion { step_index, criterion: parse(check.trim_start())? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_acceptance_has_its_prefix() {
        assert_eq!(parse("exit:3"), Ok(Criterion::ExitCode { equals: 3 }));
        assert_eq!(parse("file:a.txt"), Ok(Criterion::FileExists { path: "a.txt".to_owned() }));
        let pattern = "^ok$".to_owned();
        assert_eq!(parse("output:/^ok$/"), Ok(Criterion::OutputMatches { pattern }));
        let command = "make test".to_owned();
        assert_eq!(parse("check: make test"), Ok(Criterion::CommandSucceeds { command }));
        let description = "reads well".to_owned();
        assert_eq!(parse("reads well"), Ok(Criterion::Text { description }));
    }

    #[test]
    fn a_check_of_one_command_begins_with_its_number() {
        let path = "a.txt".to_owned();
        let criterion = Criterion::FileExists { path };
        assert_eq!(parse_for_step("2:file:a.txt"), Ok(StepCriterion { step_index: 1, criterion }));
        let criterion = Criterion::Text { description: "note: it is small".to_owned() };
        let expected = StepCriterion { step_index: 0, criterion };
        assert_eq!(parse_for_step("1: note: it is small"), Ok(expected));
        for broken in ["it is small", "0:it is small", "one:it is small", "1:", "1:exit:zero"] {
            assert!(parse_for_step(broken).is_err(), "{broken:?} was accepted");
        }
    }

    #[test]
    fn a_broken_acceptance_is_refused_before_anything_is_sent() {
        for broken in ["exit:zero", "output:/(/", "file:", "check:", "  "] {
            assert!(parse(broken).is_err(), "{broken:?} was accepted");
        }
    }
}
