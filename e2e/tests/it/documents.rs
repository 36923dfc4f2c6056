//! Every command of the README and of the guides, run as it is written there.
//!
//! A document is run from top to bottom against a `cynode up` of its own, in an empty directory. What
//! stands in for the reader's machine is in [`Reader::new`]: `cynork`, `cargo run --release -- up` and
//! `./target/release/…` are the programs of this build, the system already runs, and the address
//! `127.0.0.1:12080` is the one where it listens. A command whose shown output begins with `error:` has to
//! fail with these words; every other command has to succeed.
//!
//! A comment before a block says what cannot be run as it stands, or what has to be seen:
//!
//! - `<!-- test: skip, REASON -->`: the block is not run, such as one that downloads something.
//! - `<!-- test: stop -->`: its command runs until it is stopped; it is, once it printed something.
//! - `<!-- test: expect TEXT -->`: the commands of the block print this text.

mod blocks;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use self::blocks::{Block, Mark, ShownCommand, blocks};
use crate::processes::{eventually, send};
use crate::programs::{Said, program};
use crate::system::{PATIENCE, System};

/// A reader types slower than a test: what is not there yet is waited for this long.
const READING: Duration = Duration::from_secs(30);
/// Where the documents say that the system listens.
const DOCUMENTED: &str = "127.0.0.1:12080";
const PROGRAMS: [&str; 4] = ["cynode-orchestrator", "cynode-runner", "cynode-node", "cynode"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The README and the guides, by path from the root.
fn documents() -> Vec<String> {
    let guides = fs::read_dir(root().join("docs/guides")).unwrap();
    let names = guides.map(|guide| guide.unwrap().file_name().into_string().unwrap());
    let mut all: Vec<String> = names.map(|name| format!("docs/guides/{name}")).collect();
    all.push("README.md".to_owned());
    all.sort();
    all
}

/// A terminal beside a system that runs.
struct Reader {
    system: System,
    place: PathBuf,
    bin: PathBuf,
}

impl Reader {
    async fn new() -> Self {
        let system = System::new().await;
        let (place, bin) = (system.home().join("clone"), system.home().join("bin"));
        fs::create_dir_all(place.join("target/release")).unwrap();
        fs::create_dir(&bin).unwrap();
        let cynork = bin.join("cynork");
        let (program_path, data) = (program("cynork"), system.data_dir());
        let call =
            format!("exec '{}' --data-dir '{}' \"$@\"", program_path.display(), data.display());
        script(&cynork, &call);
        symlink(&cynork, place.join("target/release/cynork")).unwrap();
        for name in PROGRAMS {
            symlink(program(name), place.join("target/release").join(name)).unwrap();
        }
        // The system is built and runs already, and the tests are these.
        script(
            &bin.join("cargo"),
            "case \"$*\" in\n\
             'run --release -- up') exec cynork -q status -o json > /dev/null ;;\n\
             'build --release --workspace') exit 0 ;;\n\
             'xtask test') exit 0 ;;\n\
             *) echo \"the tests have no stand-in for: cargo $*\" >&2; exit 1 ;;\n\
             esac",
        );
        Self { system, place, bin }
    }

    fn shell(&self, line: &str) -> Command {
        let address = self.system.announced.url.trim_start_matches("http://");
        let mut shell = Command::new("timeout");
        shell.args(["--kill-after=5", "60", "/bin/sh", "-c", &line.replace(DOCUMENTED, address)]);
        shell.env_clear().env("HOME", self.system.home());
        shell.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", self.bin.display()));
        shell.current_dir(&self.place).stdin(Stdio::null());
        shell
    }

    /// Runs a command until it ends as its document shows; what it said then.
    async fn follow(&self, command: &ShownCommand, at: &str) -> Said {
        let begun = Instant::now();
        loop {
            let said = Said::from(self.shell(&command.line).output().unwrap());
            let expected = command.expected_error();
            let is_fine = match &expected {
                None => said.code == 0,
                Some(words) => {
                    assert_ne!(said.code, 0, "{at} succeeds, and is shown to fail: {said:?}");
                    said.stderr.contains(words)
                }
            };
            if is_fine {
                return said;
            }
            let is_late = begun.elapsed() > READING;
            assert!(!is_late, "{at} does not do as shown\n$ {}\n{said:#?}", command.line);
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Runs a command that does not end, and stops it once it printed something.
    async fn stop(&self, command: &ShownCommand, at: &str) {
        let out = self.place.join("until-stopped.out");
        let file = fs::File::create(&out).unwrap();
        let mut shell = self.shell(&format!("exec {}", command.line));
        let shell = shell.stdout(file.try_clone().unwrap()).stderr(file);
        let mut child = shell.spawn().unwrap();
        let has_printed = || fs::metadata(&out).unwrap().len() > 0;
        eventually(at, PATIENCE, || has_printed().then_some(())).await;
        // It may have ended by itself, which a command that runs until it is stopped must not.
        assert_eq!(child.try_wait().unwrap(), None, "{at}: {:?}", fs::read_to_string(&out));
        send(i32::try_from(child.id()).unwrap(), Signal::SIGINT);
        let ended = eventually(at, PATIENCE, || child.try_wait().unwrap()).await;
        assert_ne!(ended.code(), Some(2), "{at}: {:?}", fs::read_to_string(&out));
    }

    async fn run(&self, document: &str, block: &Block) {
        let at = |line: usize| format!("{document}:{line}");
        let (mut printed, mut expected) = (String::new(), vec![]);
        let mut is_stopped = false;
        for mark in &block.marks {
            match mark {
                Mark::Skip => return,
                Mark::Stop => is_stopped = true,
                Mark::Expect(text) => expected.push(text.clone()),
            }
        }
        for command in &block.commands {
            if is_stopped {
                self.stop(command, &at(command.number)).await;
            } else {
                let said = self.follow(command, &at(command.number)).await;
                printed.extend([said.stdout, said.stderr]);
            }
        }
        for text in expected {
            assert!(printed.contains(&text), "{} lacks {text:?}:\n{printed}", at(block.number));
        }
    }
}

fn script(path: &Path, text: &str) {
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn every_command_of_the_readme_and_the_guides_runs_as_written() {
    for document in documents() {
        let all = blocks(&fs::read_to_string(root().join(&document)).unwrap());
        let all = all.unwrap_or_else(|fault| panic!("{document}:{fault}"));
        if all.iter().all(Block::is_skipped) {
            continue;
        }
        let reader = Reader::new().await;
        for block in &all {
            reader.run(&document, block).await;
        }
    }
}
