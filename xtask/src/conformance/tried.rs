//! What a program of others is to show, and what came of each try.

use std::io::Write;

use anyhow::Result;

use crate::guardrails::evidence::Outcome;
use crate::guardrails::junit::Case;

/// What was seen, or what was complained of.
pub(super) type Said = Result<String, String>;

/// What came of each try at one check, of which the last counts.
#[derive(Debug)]
pub(super) struct Tried {
    /// What was tried.
    pub(super) what: String,
    /// What its passing shows.
    sentence: &'static str,
    said: Vec<Said>,
}

impl Tried {
    pub(super) fn new(what: String, sentence: &'static str) -> Self {
        Self { what, sentence, said: vec![] }
    }

    /// Notes what came of one more try.
    pub(super) fn note(&mut self, said: Said) {
        self.said.push(said);
    }

    pub(super) fn has_passed(&self) -> bool {
        self.said.last().is_some_and(Result::is_ok)
    }

    /// Prints how it went, and makes a case of it.
    pub(super) fn tell(&self, out: &mut dyn Write) -> Result<Case> {
        let words = match self.said.as_slice() {
            [] => "FAIL: it was not tried".to_owned(),
            [Err(first), .., Ok(seen)] => {
                format!("passed on the second try: {seen}; at first: {first}")
            }
            [.., Ok(seen)] => format!("pass: {seen}"),
            [.., Err(complaint)] => format!("FAIL: {complaint}"),
        };
        writeln!(out, "{:<44} {words}", self.what)?;
        let outcome = if self.has_passed() { Outcome::Passed } else { Outcome::Failed };
        let binary = format!("interop::{}", self.what);
        Ok(Case { binary, name: self.sentence.to_owned(), outcome })
    }
}

/// A check that can be run by itself.
pub(super) struct Check<'a> {
    tried: Tried,
    run: Box<dyn Fn() -> Said + Send + 'a>,
}

impl<'a> Check<'a> {
    pub(super) fn new(
        (what, sentence): (String, &'static str),
        run: impl Fn() -> Said + Send + 'a,
    ) -> Self {
        Self { tried: Tried::new(what, sentence), run: Box::new(run) }
    }

    /// Runs it, unless it has passed.
    pub(super) fn run(&mut self) {
        if !self.tried.has_passed() {
            let said = (self.run)();
            self.tried.note(said);
        }
    }

    /// Prints how it went, and makes a case of it.
    pub(super) fn tell(&self, out: &mut dyn Write) -> Result<Case> {
        self.tried.tell(out)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Runs a check twice that passes at the try with this number; what is said of it.
    fn told(passes_at: usize) -> (usize, String, Outcome) {
        let tries = AtomicUsize::new(0);
        let mut check = Check::new(("it".to_owned(), "shown"), || {
            let number = tries.fetch_add(1, Ordering::Relaxed) + 1;
            if number >= passes_at { Ok("seen".to_owned()) } else { Err("late".to_owned()) }
        });
        check.run();
        check.run();
        let mut out = Vec::new();
        let case = check.tell(&mut out).unwrap();
        (tries.load(Ordering::Relaxed), String::from_utf8(out).unwrap(), case.outcome)
    }

    #[test]
    fn what_passes_is_not_run_again() {
        let (tries, said, outcome) = told(1);

        assert_eq!((tries, outcome), (1, Outcome::Passed));
        assert!(said.ends_with(" pass: seen\n"), "{said}");
    }

    #[test]
    fn what_passes_on_the_second_try_is_said_to_have_done_so() {
        let (tries, said, outcome) = told(2);

        assert_eq!((tries, outcome), (2, Outcome::Passed));
        assert!(said.ends_with(" passed on the second try: seen; at first: late\n"), "{said}");
    }

    #[test]
    fn what_fails_twice_has_failed() {
        let (tries, said, outcome) = told(3);

        assert_eq!((tries, outcome), (2, Outcome::Failed));
        assert!(said.ends_with(" FAIL: late\n"), "{said}");
    }
}
