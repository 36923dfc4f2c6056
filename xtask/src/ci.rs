//! `cargo xtask ci`: every check before a change is merged, each stage named and timed.

use std::io::Write;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::testing::{self, TestLane};
use crate::{openapi, prepare, tidy, tool};

type StageFn = fn(&mut dyn Write) -> Result<bool>;

/// The stages, cheap ones first. A failed stage does not stop the others.
const STAGES: &[(&str, StageFn)] = &[
    ("fmt", |_| tool::run_and_check(&mut tool::cargo_command(&["fmt", "--all", "--check"]))),
    ("tidy", tidy::run),
    ("clippy", |_| tool::run_and_check(&mut clippy_command())),
    ("test", |out| testing::run(out, TestLane::Fast)),
    ("doc", |_| tool::run_and_check(&mut doc_command())),
    ("openapi", openapi::check),
    ("otlp feature", |_| tool::run_and_check(&mut otlp_test_command()?)),
];

/// Result of a stage.
struct StageResult {
    name: &'static str,
    passed: bool,
    took: Duration,
}

/// Runs every stage and prints a table; returns whether all passed.
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
        ended.push(StageResult { name, passed, took: start.elapsed() });
    }
    write!(out, "\n{}", render_stage_table(&ended))?;
    Ok(ended.iter().all(|stage| stage.passed))
}

fn clippy_command() -> Command {
    tool::cargo_command(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
}

/// The tests of the export of spans, which the other stages do not build. With the whole workspace selected, the
/// dependencies have the features that they have in the stage `test`, and are not built again.
fn otlp_test_command() -> Result<Command> {
    let mut nextest = prepare::ensure_nextest()?;
    nextest.args(["run", "--profile", "otlp", "--workspace", "--test", "otlp"]);
    nextest.args(["--features", "cynode-runtime/otlp"]);
    Ok(nextest)
}

fn doc_command() -> Command {
    let mut doc = tool::cargo_command(&["doc", "--workspace", "--no-deps"]);
    doc.env("RUSTDOCFLAGS", "-D warnings");
    doc
}

fn render_stage_table(ended: &[StageResult]) -> String {
    let mut lines: Vec<String> = ended.iter().map(render_stage).collect();
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

fn render_stage(stage: &StageResult) -> String {
    let word = if stage.passed { "pass" } else { "FAIL" };
    format!("{:<14} {word} {:>8.1} s\n", stage.name, stage.took.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_each_stage_and_the_verdict() {
        let stage = |name, passed| StageResult { name, passed, took: Duration::from_millis(1500) };

        assert_eq!(
            render_stage_table(&[stage("fmt", true), stage("test", false)]),
            "fmt            pass      1.5 s\ntest           FAIL      1.5 s\nci: 1 stage failed in 3.0 s\n"
        );
    }
}
