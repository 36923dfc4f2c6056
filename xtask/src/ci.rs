//! `cargo xtask ci`: everything that must hold before a change lands, each stage named and timed.

use std::io::Write;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::testing::{self, Lane};
use crate::{openapi, tidy, tool};

type Work = fn(&mut dyn Write) -> Result<bool>;

/// The stages, cheap ones first. A failed one does not stop the others.
const STAGES: &[(&str, Work)] = &[
    ("fmt", |_| tool::succeeds(&mut tool::cargo(&["fmt", "--all", "--check"]))),
    ("tidy", tidy::run),
    ("clippy", |_| tool::succeeds(&mut clippy())),
    ("test", |out| testing::run(out, Lane::Fast)),
    ("doc", |_| tool::succeeds(&mut doc())),
    ("openapi", openapi::check),
    ("otlp feature", |_| {
        tool::succeeds(&mut tool::cargo(&["check", "-p", "cynode-runtime", "--features", "otlp"]))
    }),
];

/// How a stage ended.
struct Ended {
    name: &'static str,
    passed: bool,
    took: Duration,
}

/// Runs every stage and prints a table; whether all passed.
pub fn run(out: &mut dyn Write) -> Result<bool> {
    let mut ended = Vec::new();
    for (name, work) in STAGES {
        writeln!(out, "\n== {name}")?;
        out.flush()?;
        let start = Instant::now();
        let passed = work(out).or_else(|error| {
            writeln!(out, "{name}: {error:#}")?;
            anyhow::Ok(false)
        })?;
        ended.push(Ended { name, passed, took: start.elapsed() });
    }
    write!(out, "\n{}", table(&ended))?;
    Ok(ended.iter().all(|stage| stage.passed))
}

fn clippy() -> Command {
    tool::cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
}

fn doc() -> Command {
    let mut doc = tool::cargo(&["doc", "--workspace", "--no-deps"]);
    doc.env("RUSTDOCFLAGS", "-D warnings");
    doc
}

fn table(ended: &[Ended]) -> String {
    let mut lines: Vec<String> = ended.iter().map(line).collect();
    let total: Duration = ended.iter().map(|stage| stage.took).sum();
    let failed = ended.iter().filter(|stage| !stage.passed).count();
    let verdict = match failed {
        0 => "pass".to_owned(),
        1 => "1 stage failed".to_owned(),
        more => format!("{more} stages failed"),
    };
    lines.push(format!("ci: {verdict} in {:.1} s\n", total.as_secs_f64()));
    lines.concat()
}

fn line(stage: &Ended) -> String {
    let word = if stage.passed { "pass" } else { "FAIL" };
    format!("{:<14} {word} {:>8.1} s\n", stage.name, stage.took.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_each_stage_and_the_verdict() {
        let stage = |name, passed| Ended { name, passed, took: Duration::from_millis(1500) };

        assert_eq!(
            table(&[stage("fmt", true), stage("test", false)]),
            "fmt            pass      1.5 s\ntest           FAIL      1.5 s\nci: 1 stage failed in 3.0 s\n"
        );
    }
}
