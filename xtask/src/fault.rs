//! A broken rule: location, problem and remedy.

use std::fmt;
use std::io::{self, Write};

/// One broken rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// The location, such as `crates/ops/src/lib.rs:12`.
    pub at: String,
    pub what: String,
    pub remedy: String,
}

impl Fault {
    /// A fault at a location that is not a line of a file.
    pub fn new(at: impl Into<String>, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { at: at.into(), what: what.into(), remedy: remedy.into() }
    }

    /// A fault in line `line` (from 1) of `path`.
    pub fn in_line(
        path: &str,
        line: usize,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self::new(format!("{path}:{line}"), what, remedy)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.at, self.what, self.remedy)
    }
}

/// Prints every fault on its own line, ordered by location.
pub fn print_all(out: &mut dyn Write, word: &str, faults: &[Fault]) -> io::Result<()> {
    let mut sorted: Vec<&Fault> = faults.iter().collect();
    sorted.sort();
    for fault in sorted {
        writeln!(out, "{word}: {fault}")?;
    }
    Ok(())
}
