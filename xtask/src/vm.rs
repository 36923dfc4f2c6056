//! `cargo xtask vm`: the tests of cgroups, in a virtual machine whose only hierarchy is version 2.
//!
//! Few machines leave the controllers of cgroups to a test: containers mount them read-only, and a hierarchy of version 1
//! holds them. The machine is emulated in software, so that it runs anywhere, and boots a kernel of Debian with an image of
//! the test programs in memory.

mod archive;
mod image;
mod kernel;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::guardrails::evidence::Outcome;
use crate::guardrails::junit::Case;
use crate::{prepare, tool};

/// Whether there is a kernel for the processor of this machine.
pub const IS_SUPPORTED: bool = cfg!(target_arch = "x86_64");
/// The name of the cases in a report.
pub const BINARY: &str = "vm";
const MEMORY_MIB: &str = "2048";
/// How long the machine may take; the tests in it have limits of their own.
const DEADLINE: Duration = Duration::from_mins(15);
/// Beginning of the line before the tests of a mode, and of the last line of a machine that ran all of them.
const MODE_MARK: &str = "vm-mode ";
const END_MARK: &str = "vm-end";

/// Boots the machine and prints what ran; returns whether every test passed.
pub fn run(out: &mut dyn Write) -> Result<bool> {
    let cases = run_vm_cases(out)?;
    let passed = cases.iter().filter(|case| case.outcome == Outcome::Passed).count();
    for case in cases.iter().filter(|case| case.outcome != Outcome::Passed) {
        writeln!(out, "vm: failed: {}", case.name)?;
    }
    writeln!(out, "vm: {passed} of {} tests passed", cases.len())?;
    Ok(passed == cases.len())
}

/// Runs the tests in the machine in three modes: some as root in the root of the hierarchy, all as root in a cgroup below it,
/// and all as an ordinary user in a delegated cgroup.
pub fn run_vm_cases(out: &mut dyn Write) -> Result<Vec<Case>> {
    let emulator = prepare::ensure_emulator()?;
    let directory = tool::target_dir().join(BINARY);
    let kernel = kernel::ensure_kernel(&directory)?;
    let image = directory.join("image.cpio");
    image::write(&image, &build_tests()?, &kernel)?;
    let begun = Instant::now();
    let console = boot(&emulator, &kernel.image, &image, &directory.join("console.log"))?;
    writeln!(out, "vm: booted and ran in {:.0} s", begun.elapsed().as_secs_f64())?;
    parse_console(&console)
}

/// The test program and the binary that it starts.
struct TestPrograms {
    tests: PathBuf,
    node: PathBuf,
}

fn build_tests() -> Result<TestPrograms> {
    let mut cargo = tool::cargo_command(&["test", "--no-run", "--workspace", "--test", "cgroups"]);
    let output = tool::stdout_of(cargo.arg("--message-format=json-render-diagnostics"))?;
    let messages: Vec<serde_json::Value> =
        output.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let find = |name: &str| {
        let mut named = messages.iter().filter(|message| message["target"]["name"] == name);
        let path = named.find_map(|message| Some(PathBuf::from(message["executable"].as_str()?)));
        path.with_context(|| format!("cargo built no program {name}"))
    };
    Ok(TestPrograms { tests: find("cgroups")?, node: find("cynode-node")? })
}

/// Boots the machine and returns what it wrote to its console, the file `log`.
fn boot(emulator: &Path, kernel: &Path, image: &Path, log: &Path) -> Result<String> {
    let unusable = || format!("cannot use {}", log.display());
    let console = File::create(log).with_context(unusable)?;
    let mut machine = Command::new(emulator)
        .args(["-accel", "tcg", "-cpu", "max", "-smp", "2", "-m", MEMORY_MIB])
        .args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"])
        // Only fatal messages of the kernel: others would interrupt the lines of the tests.
        .args(["-serial", "stdio", "-append", "console=ttyS0 loglevel=1 panic=-1"])
        .arg("-kernel")
        .arg(kernel)
        .arg("-initrd")
        .arg(image)
        .stdin(Stdio::null())
        .stdout(console)
        .spawn()
        .context("the emulator cannot be started")?;
    let begun = Instant::now();
    while machine.try_wait().context("the emulator was lost")?.is_none() {
        if begun.elapsed() > DEADLINE {
            machine.kill().context("the emulator cannot be ended")?;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let console = fs::read(log).with_context(unusable)?;
    Ok(String::from_utf8_lossy(&console).replace('\r', ""))
}

/// The cases on a console: `<mode>::<test>`. A machine that ended early counts as a failure of the tests that it owes.
fn parse_console(console: &str) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    let mut mode = "";
    for line in console.lines() {
        if let Some(name) = line.strip_prefix(MODE_MARK) {
            mode = name;
        }
        let Some((name, result)) = line.strip_prefix("test ").and_then(|l| l.split_once(" ... "))
        else {
            continue;
        };
        let outcome = if result == "ok" { Outcome::Passed } else { Outcome::Failed };
        cases.push(Case { binary: BINARY.to_owned(), name: format!("{mode}::{name}"), outcome });
    }
    if cases.is_empty() || !console.lines().any(|line| line == END_MARK) {
        let start = console.len().saturating_sub(4000);
        let tail = console.get(start..).unwrap_or(console);
        bail!("the virtual machine ended early; its console ends with:\n{tail}");
    }
    let has_failed = cases.iter().any(|case| case.outcome != Outcome::Passed);
    if has_failed {
        eprintln!("{console}");
    }
    Ok(cases)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONSOLE: &str = "SeaBIOS\nvm-mode root\n\nrunning 2 tests\ntest hostile::a ... ok\n\
        test lifecycle::b ... FAILED\nvm-mode user\ntest hostile::a ... ok\n";

    #[test]
    fn each_mode_has_its_own_cases() {
        let cases = parse_console(&format!("{CONSOLE}vm-end\n")).unwrap();

        let seen: Vec<_> = cases.iter().map(|case| (case.name.as_str(), case.outcome)).collect();
        assert_eq!(
            seen,
            [
                ("root::hostile::a", Outcome::Passed),
                ("root::lifecycle::b", Outcome::Failed),
                ("user::hostile::a", Outcome::Passed)
            ]
        );
    }

    #[test]
    fn a_machine_that_ended_early_passed_nothing() {
        assert!(parse_console(CONSOLE).is_err());
        assert!(parse_console("vm-end\n").is_err());
    }
}
