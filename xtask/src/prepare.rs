//! Tools that the tests need: nextest, the `PostgreSQL` server programs, Chromium and an emulator.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::tool;

/// The server programs from which the test harness starts a private `PostgreSQL`.
const POSTGRES_PROGRAMS: &[&str] = &["initdb", "postgres"];

/// Debian's installation directory, with one directory for each version.
const POSTGRES_VERSIONS: &str = "/usr/lib/postgresql";

const POSTGRES_HELP: &str = "the tests need the PostgreSQL server programs initdb and postgres \
(15 or newer), in PATH or under /usr/lib/postgresql. Install them with your system's package \
manager, such as `sudo apt-get install postgresql` (Debian, Ubuntu), `sudo dnf install \
postgresql-server` (Fedora) or `brew install postgresql`, then run this again";

/// The `WebDriver` server and the browser for the console tests.
const BROWSER_PROGRAMS: &[&str] = &["chromedriver", "chromium"];

const BROWSER_HELP: &str = "the tests need Chromium and its driver, as the programs chromium and \
chromedriver in PATH. Install them with your system's package manager, such as `sudo apt-get install \
chromium chromium-driver` (Debian) or `sudo dnf install chromium chromedriver` (Fedora), then run this \
again";

/// The emulator of the machine for the tests of cgroups.
const EMULATOR: &str = "qemu-system-x86_64";

const EMULATOR_HELP: &str = "the tests need QEMU, as the program qemu-system-x86_64 in PATH. Install it \
with your system's package manager, such as `sudo apt-get install qemu-system-x86` (Debian, Ubuntu) or \
`sudo dnf install qemu-system-x86-core` (Fedora), then run this again";

/// Messages of `apt-get` when another process holds a lock.
const LOCKED: &[&str] = &["Could not get lock", "Unable to lock", "Unable to acquire the dpkg"];

/// Attempts of `apt-get` for other failures, so that one failure of a mirror is not fatal.
const APT_TRIES: usize = 3;

/// `cargo nextest`, installed under the target directory if the machine has none.
pub fn ensure_nextest() -> Result<Command> {
    let own = tool::target_dir().join("tools");
    let own_binary = own.join("bin/cargo-nextest");
    if tool::find_in_path("cargo-nextest").is_some() {
        return Ok(tool::cargo_command(&["nextest"]));
    }
    if !own_binary.is_file() {
        let mut install = tool::cargo_command(&["install", "cargo-nextest", "--locked", "--root"]);
        tool::download_with_retries(install.arg(&own))?;
    }
    let mut command = Command::new(own_binary);
    command.current_dir(tool::root()).arg("nextest");
    Ok(command)
}

/// Finds the `PostgreSQL` server programs; installs them if possible.
pub fn ensure_postgres() -> Result<PathBuf> {
    if let Some(directory) = postgres_directory() {
        return Ok(directory);
    }
    install_if_possible(&["postgresql"])?;
    match postgres_directory() {
        Some(directory) => Ok(directory),
        None => bail!(POSTGRES_HELP),
    }
}

/// Finds a browser and its driver; installs them if possible.
pub fn ensure_browser() -> Result<PathBuf> {
    if !has_browser() {
        install_if_possible(&["chromium", "chromium-driver"])?;
    }
    match tool::find_in_path(BROWSER_PROGRAMS[0]) {
        Some(driver) if has_browser() => Ok(driver),
        _ => bail!(BROWSER_HELP),
    }
}

/// Finds the emulator of a virtual machine; installs it if possible.
pub fn ensure_emulator() -> Result<PathBuf> {
    if tool::find_in_path(EMULATOR).is_none() {
        install_if_possible(&["--no-install-recommends", "qemu-system-x86"])?;
    }
    match tool::find_in_path(EMULATOR) {
        Some(emulator) => Ok(emulator),
        None => bail!(EMULATOR_HELP),
    }
}

/// Installs bubblewrap, the baseline of the sandbox benchmark, if possible. The benchmark runs without it, too.
pub fn ensure_bubblewrap() -> Result<()> {
    match tool::find_in_path("bwrap") {
        Some(_) => Ok(()),
        None => install_if_possible(&["bubblewrap"]),
    }
}

fn has_browser() -> bool {
    BROWSER_PROGRAMS.iter().all(|program| tool::find_in_path(program).is_some())
}

/// Installs Debian packages if this process has permission.
fn install_if_possible(packages: &[&str]) -> Result<()> {
    if !can_install() {
        return Ok(());
    }
    update_package_lists()?;
    run_apt_get(Path::new("apt-get"), &[&["install", "-y"], packages].concat(), LockWait::default())
}

/// Updates the lists of Debian packages if this process has permission.
pub fn update_package_lists() -> Result<()> {
    if !can_install() {
        return Ok(());
    }
    run_apt_get(Path::new("apt-get"), &["update"], LockWait::default())
}

fn can_install() -> bool {
    nix::unistd::geteuid().is_root() && tool::find_in_path("apt-get").is_some()
}

/// How long to wait for another package manager.
#[derive(Debug, Clone, Copy)]
struct LockWait {
    limit: Duration,
    pause: Duration,
}

impl Default for LockWait {
    fn default() -> Self {
        Self { limit: Duration::from_mins(10), pause: Duration::from_secs(2) }
    }
}

/// Runs `apt-get`. While another package manager holds a lock, such as the updates of a machine
/// that has just started, it waits.
///
/// The option makes `apt-get` itself wait for the lock of `dpkg` only: for the lock of the package
/// lists it fails at once, and is run again.
fn run_apt_get(program: &Path, args: &[&str], wait: LockWait) -> Result<()> {
    let begun = Instant::now();
    let timeout = format!("DPkg::Lock::Timeout={}", wait.limit.as_secs());
    for failures in 0.. {
        let mut command = Command::new(program);
        command.env("DEBIAN_FRONTEND", "noninteractive").env("LC_ALL", "C");
        let output = command
            .args(["-o", &timeout])
            .args(args)
            .stdout(Stdio::inherit())
            .stderr(Stdio::piped())
            .output()
            .with_context(|| format!("cannot run {}", program.display()))?;
        if output.status.success() {
            return Ok(());
        }
        let complaint = String::from_utf8_lossy(&output.stderr);
        eprint!("{complaint}");
        let is_locked = LOCKED.iter().any(|words| complaint.contains(words));
        if is_locked && begun.elapsed() < wait.limit {
            eprintln!("waiting for another package manager");
            std::thread::sleep(wait.pause);
        } else if is_locked || failures + 1 >= APT_TRIES {
            bail!("apt-get {} failed", args.join(" "));
        }
    }
    Ok(())
}

fn postgres_directory() -> Option<PathBuf> {
    let in_path = tool::find_in_path(POSTGRES_PROGRAMS[0])
        .and_then(|program| program.parent().map(Path::to_path_buf));
    in_path
        .filter(|directory| has_postgres(directory))
        .or_else(|| newest_version(Path::new(POSTGRES_VERSIONS)))
}

fn newest_version(versions: &Path) -> Option<PathBuf> {
    let version = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    std::fs::read_dir(versions)
        .ok()?
        .flatten()
        .filter_map(|entry| Some((version(&entry.path())?, entry.path().join("bin"))))
        .filter(|(_, directory)| has_postgres(directory))
        .max()
        .map(|(_, directory)| directory)
}

fn has_postgres(directory: &Path) -> bool {
    POSTGRES_PROGRAMS.iter().all(|program| directory.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_newest_complete_postgres_is_taken() {
        let versions = tempfile::tempdir().unwrap();
        for (version, programs) in [("9", 2), ("15", 2), ("16", 1), ("old", 2)] {
            let bin = versions.path().join(version).join("bin");
            fs::create_dir_all(&bin).unwrap();
            for program in &POSTGRES_PROGRAMS[..programs] {
                fs::write(bin.join(program), "").unwrap();
            }
        }

        assert_eq!(newest_version(versions.path()), Some(versions.path().join("15/bin")));
    }

    /// An `apt-get` that fails `failures` times with these words, and records its arguments.
    fn staged_apt(dir: &Path, failures: usize, words: &str) -> PathBuf {
        let program = dir.join("apt-get");
        let at = dir.display();
        let script = format!(
            "#!/bin/sh\necho \"$@\" >> {at}/calls\n\
             [ $(wc -l < {at}/calls) -gt {failures} ] || {{ echo '{words}' >&2; exit 100; }}\n"
        );
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
        program
    }

    #[test]
    fn the_lock_of_another_package_manager_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let words =
            "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt-get)";
        let program = staged_apt(dir.path(), 5, words);
        let patient = LockWait { limit: Duration::from_hours(1), pause: Duration::ZERO };

        run_apt_get(&program, &["update"], patient).unwrap();

        let calls = fs::read_to_string(dir.path().join("calls")).unwrap();
        assert_eq!(calls, "-o DPkg::Lock::Timeout=3600 update\n".repeat(6));
    }

    #[test]
    fn a_lock_that_is_never_released_and_other_failures_end_in_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let program = staged_apt(dir.path(), 99, "E: Could not get lock");
        let no_patience = LockWait { limit: Duration::ZERO, pause: Duration::ZERO };
        assert!(run_apt_get(&program, &["update"], no_patience).is_err());

        let dir = tempfile::tempdir().unwrap();
        let program = staged_apt(dir.path(), 99, "E: no mirror answers");
        let patient = LockWait { limit: Duration::from_hours(1), pause: Duration::ZERO };
        assert!(run_apt_get(&program, &["update"], patient).is_err());
        let calls = fs::read_to_string(dir.path().join("calls")).unwrap();
        assert_eq!(calls.lines().count(), APT_TRIES);
    }

    #[test]
    fn a_machine_without_postgres_has_no_version() {
        assert_eq!(newest_version(Path::new("/nonexistent")), None);
    }
}
