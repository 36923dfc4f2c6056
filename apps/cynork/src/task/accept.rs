//! `--accept`: what must be true of a result, in one word.

use cynode_domain::criteria::Criterion;

/// Reads `exit:N`, `output:/regex/`, `file:path` or `check:command`; anything else is prose for a reader.
pub(crate) fn parse(text: &str) -> Result<Criterion, String> {
    let criterion = if let Some(code) = text.strip_prefix("exit:") {
        let equals = code.trim().parse().map_err(|_| format!("\"{code}\" is no exit code"))?;
        Criterion::ExitCode { equals }
    } else if let Some(pattern) = text.strip_prefix("output:") {
        let inner = pattern.strip_prefix('/').and_then(|rest| rest.strip_suffix('/'));
        Criterion::OutputMatches { pattern: inner.unwrap_or(pattern).to_owned() }
    } else if let Some(path) = text.strip_prefix("file:") {
        Criterion::FileExists { path: path.to_owned() }
    } else if let Some(command) = text.strip_prefix("check:") {
        Criterion::CommandSucceeds { command: command.trim().to_owned() }
    } else if text.trim().is_empty() {
        return Err("say what must be true of the result".to_owned());
    } else {
        Criterion::Text { description: text.to_owned() }
    };
    match criterion.problem() {
        Some(problem) => Err(problem),
        None => Ok(criterion),
    }
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
    fn a_broken_acceptance_is_refused_before_anything_is_sent() {
        for broken in ["exit:zero", "output:/(/", "file:", "check:", "  "] {
            assert!(parse(broken).is_err(), "{broken:?} was accepted");
        }
    }
}
