//! `cargo xtask bench build`: CPU-seconds of a clean release build, by crate.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result};
use nix::sys::resource::{UsageWho, getrusage};

use super::wrapper::LOG_VARIABLE;
use crate::tool;

const SHOWN: usize = 25;

/// Runs a clean build of `cargo run --release -- up` in its own directory, and prints the cost.
pub fn run(out: &mut dyn Write) -> Result<bool> {
    let directory = tool::target_dir().join("bench-build");
    if directory.exists() {
        fs::remove_dir_all(&directory).context("cannot empty the benchmark's directory")?;
    }
    fs::create_dir_all(&directory)?;
    let log = directory.join("compilers.tsv");
    let own = std::env::current_exe().context("this program has no path")?;
    for name in ["cc", "c++"] {
        std::os::unix::fs::symlink(&own, directory.join(name))?;
    }

    let start = Instant::now();
    let before = children_seconds()?;
    let mut build = tool::cargo_command(&["build", "--release", "--quiet"]);
    build
        .env("CARGO_TARGET_DIR", directory.join("target"))
        .env("RUSTC_WRAPPER", &own)
        .env("CC", directory.join("cc"))
        .env("CXX", directory.join("c++"))
        .env(LOG_VARIABLE, &log);
    let succeeded = tool::run_and_check(&mut build)?;
    let all = children_seconds()? - before;
    print_build_cost(out, &log, all, start.elapsed().as_secs_f64())?;
    Ok(succeeded)
}

fn print_build_cost(out: &mut dyn Write, log: &Path, all: f64, wall: f64) -> Result<()> {
    let units = sum_by_unit(&fs::read_to_string(log).context("no compiler was measured")?);
    writeln!(out, "CPU-seconds  unit")?;
    for (unit, seconds) in units.iter().take(SHOWN) {
        writeln!(out, "{seconds:>11.1}  {unit}")?;
    }
    let compilers: f64 = units.iter().map(|(_, seconds)| seconds).sum();
    let others: f64 = units.iter().skip(SHOWN).map(|(_, seconds)| seconds).sum();
    writeln!(out, "{others:>11.1}  {} other units", units.len().saturating_sub(SHOWN))?;
    writeln!(out, "{:>11.1}  cargo and running build scripts", (all - compilers).max(0.0))?;
    writeln!(out, "{all:>11.1}  in all; {wall:.1} s of wall time")?;
    Ok(())
}

/// CPU time of all ended children of this process, including their children.
fn children_seconds() -> Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let seconds = |time: nix::sys::time::TimeVal| {
        std::time::Duration::new(
            u64::try_from(time.tv_sec()).unwrap_or_default(),
            u32::try_from(time.tv_usec()).unwrap_or_default() * 1000,
        )
        .as_secs_f64()
    };
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

/// CPU-seconds by unit, the most expensive first.
fn sum_by_unit(log: &str) -> Vec<(String, f64)> {
    let mut units: BTreeMap<&str, u64> = BTreeMap::new();
    for line in log.lines() {
        let Some((micros, unit)) = line.split_once('\t') else {
            continue;
        };
        *units.entry(unit).or_default() += micros.parse::<u64>().unwrap_or_default();
    }
    let mut units: Vec<(&str, u64)> = units.into_iter().collect();
    units.sort_by_key(|(unit, micros)| (std::cmp::Reverse(*micros), *unit));
    units
        .into_iter()
        .map(|(unit, micros)| {
            (unit.to_owned(), std::time::Duration::from_micros(micros).as_secs_f64())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_of_a_unit_is_the_sum_of_its_calls() {
        let log = "1500000\ta (C)\n250000\tb\n500000\ta (C)\nbroken line\n250000\tb\n";

        assert_eq!(sum_by_unit(log), [("a (C)".to_owned(), 2.0), ("b".to_owned(), 0.5)]);
    }
}
