//! A check with a third-party program, and the result of each try.

use std::io::Write;

use anyhow::Result;

use crate::guardrails::evidence::Outcome;
use crate::guardrails::junit::Case;

/// The output of a check, or its error.
pub(super) type CheckOutput = Result<String, String>;

/// The results of all tries at one check; the last counts.
#[derive(Debug)]
pub(super) struct CheckTries {
    /// Name of the check.
    pub(super) name: String,
    /// Name of the test case that its passing proves.
    sentence: &'static str,
    outputs: Vec<CheckOutput>,
}

impl CheckTries {
    pub(super) fn new(name: String, sentence: &'static str) -> Self {
        Self { name, sentence, outputs: vec![] }
    }

    /// Records the result of one more try.
    pub(super) fn record_try(&mut self, output: CheckOutput) {
        self.outputs.push(output);
    }

    pub(super) fn has_passed(&self) -> bool {
        self.outputs.last().is_some_and(Result::is_ok)
    }

    /// Prints the result, and converts it to a test case.
    pub(super) fn report_case(&self, out: &mut dyn Write) -> Result<Case> {
        let words = match self.outputs.as_slice() {
            [] => "FAIL: it was not tried".to_owned(),
            [Err(first), .., Ok(seen)] => {
                format!("passed on the second try: {seen}; at first: {first}")
            }
            [.., Ok(seen)] => format!("pass: {seen}"),
            [.., Err(complaint)] => format!("FAIL: {complaint}"),
        };
        writeln!(out, "{:<44} {words}", self.name)?;
        let outcome = if self.has_passed() { Outcome::Passed } else { Outcome::Failed };
        let binary = format!("interop::{}", self.name);
        Ok(Case { binary, name: self.sentence.to_owned(), outcome })
    }
}

/// A check that can run on its own.
pub(super) struct InteropCheck<'a> {
    tried: CheckTries,
    run: Box<dyn Fn() -> CheckOutput + Send + 'a>,
}

impl<'a> InteropCheck<'a> {
    pub(super) fn new(
        (what, sentence): (String, &'static str),
        run: impl Fn() -> CheckOutput + Send + 'a,
    ) -> Self {
        Self { tried: CheckTries::new(what, sentence), run: Box::new(run) }
    }

    /// Runs it, unless it has passed.
    pub(super) fn run(&mut self) {
        if !self.tried.has_passed() {
            let output = (self.run)();
            self.tried.record_try(output);
        }
    }

    /// Prints the result, and converts it to a test case.
    pub(super) fn report_case(&self, out: &mut dyn Write) -> Result<Case> {
        self.tried.report_case(out)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Runs a check twice that passes at the try with this number; returns the number of runs, the
    /// output and the outcome.
    fn run_check(passes_at: usize) -> (usize, String, Outcome) {
        let tries = AtomicUsize::new(0);
        let mut check = InteropCheck::new(("it".to_owned(), "shown"), || {
            let number = tries.fetch_add(1, Ordering::Relaxed) + 1;
            if number >= passes_at { Ok("seen".to_owned()) } else { Err("late".to_owned()) }
        });
        check.run();
        check.run();
        let mut out = Vec::new();
        let case = check.report_case(&mut out).unwrap();
        (tries.load(Ordering::Relaxed), String::from_utf8(out).unwrap(), case.outcome)
    }

    #[test]
    fn what_passes_is_not_run_again() {
        let (tries, output, outcome) = run_check(1);

        assert_eq!((tries, outcome), (1, Outcome::Passed));
        assert!(output.ends_with(" pass: seen\n"), "{output}");
    }

    #[test]
    fn what_passes_on_the_second_try_is_said_to_have_done_so() {
        let (tries, output, outcome) = run_check(2);

        assert_eq!((tries, outcome), (2, Outcome::Passed));
        assert!(output.ends_with(" passed on the second try: seen; at first: late\n"), "{output}");
    }

    #[test]
    fn what_fails_twice_has_failed() {
        let (tries, output, outcome) = run_check(3);

        assert_eq!((tries, outcome), (2, Outcome::Failed));
        assert!(output.ends_with(" FAIL: late\n"), "{output}");
    }
}
