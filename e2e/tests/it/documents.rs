//! Runs every command of the README and of the guides as written.
//!
//! A document runs from top to bottom against its own `cynode up`, in an empty directory.
//! [`DocumentReader::new`] replaces the reader's machine: `cynork`, `cargo run --release -- up` and
//! `./target/release/…` are the programs of this build, the system already runs, and
//! `127.0.0.1:12080` is replaced by its address. A command whose shown output begins with `error:`
//! must fail with these words; every other command must succeed.
//!
//! A comment before a block marks exceptions and expected output:
//!
//! - `<!-- test: skip, REASON -->`: the block is not run, such as one that downloads something.
//! - `<!-- test: stop -->`: its command does not end; the test stops it after its first output.
//! - `<!-- test: expect TEXT -->`: the commands of the block print this text.
//! - `<!-- test: exit CODE -->`: the commands of the block end with this code.

mod blocks;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use self::blocks::{BlockMark, CommandBlock, DocumentedCommand, parse_blocks};
use crate::processes::{eventually, send_signal};
use crate::programs::{ProgramOutput, binary_path};
use crate::system::{PATIENCE, System, SystemDatabase};

/// How long to wait for output that is not there yet: a reader types slower than a test.
const READING: Duration = Duration::from_secs(30);
/// The address in the documents.
const DOCUMENTED: &str = "127.0.0.1:12080";
const PROGRAMS: [&str; 4] = ["cynode-orchestrator", "cynode-runner", "cynode-node", "cynode"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The README and the guides, by path from the root.
fn list_documents() -> Vec<String> {
    let guides = fs::read_dir(root().join("docs/guides")).unwrap();
    let names = guides.map(|guide| guide.unwrap().file_name().into_string().unwrap());
    let mut all: Vec<String> = names.map(|name| format!("docs/guides/{name}")).collect();
    all.push("README.md".to_owned());
    all.sort();
    all
}

/// A terminal next to a running system.
struct DocumentReader {
    system: System,
    directory: PathBuf,
    _clone: tempfile::TempDir,
    bin: PathBuf,
}

impl DocumentReader {
    async fn new() -> Self {
        let clone = tempfile::tempdir().unwrap();
        let dir = clone.path().canonicalize().unwrap();
        let config = format!("[node]\nrepository_paths = [{dir:?}]\n");
        let system = System::with(SystemDatabase::Embedded, &config).await;
        let bin = system.home().join("bin");
        fs::create_dir_all(dir.join("target/release")).unwrap();
        fs::create_dir(&bin).unwrap();
        let cynork = bin.join("cynork");
        let (program_path, data) = (binary_path("cynork"), system.data_dir());
        let call =
            format!("exec '{}' --data-dir '{}' \"$@\"", program_path.display(), data.display());
        write_script(&cynork, &call);
        symlink(&cynork, dir.join("target/release/cynork")).unwrap();
        for name in PROGRAMS {
            symlink(binary_path(name), dir.join("target/release").join(name)).unwrap();
        }
        // The system is already built and running, and the tests are these.
        write_script(
            &bin.join("cargo"),
            "case \"$*\" in\n\
             'run --release -- up' | 'run --release -- up --repository-path .') exec cynork -q status -o json > /dev/null ;;\n\
             'build --release --workspace') exit 0 ;;\n\
             'xtask test') exit 0 ;;\n\
             *) echo \"the tests have no stand-in for: cargo $*\" >&2; exit 1 ;;\n\
             esac",
        );
        Self { system, directory: dir, _clone: clone, bin }
    }

    fn shell_command(&self, line: &str) -> Command {
        let address = self.system.announced.url.trim_start_matches("http://");
        let mut shell = Command::new("timeout");
        shell.args(["--kill-after=5", "60", "/bin/sh", "-c", &line.replace(DOCUMENTED, address)]);
        shell.env_clear().env("HOME", self.system.home());
        shell.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", self.bin.display()));
        shell.current_dir(&self.directory).stdin(Stdio::null());
        shell
    }

    /// Repeats a command until it ends as documented; returns its output.
    async fn run_until_as_documented(
        &self,
        command: &DocumentedCommand,
        code: i32,
        at: &str,
    ) -> ProgramOutput {
        let begun = Instant::now();
        loop {
            let said = ProgramOutput::from(self.shell_command(&command.line).output().unwrap());
            let expected = command.expected_error();
            let is_fine = match &expected {
                None => said.code == code,
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

    /// Runs a command that does not end, and stops it after its first output.
    async fn run_and_stop(&self, command: &DocumentedCommand, at: &str) {
        let out = self.directory.join("until-stopped.out");
        let file = fs::File::create(&out).unwrap();
        let mut shell = self.shell_command(&format!("exec {}", command.line));
        let shell = shell.stdout(file.try_clone().unwrap()).stderr(file);
        let mut child = shell.spawn().unwrap();
        let has_printed = || fs::metadata(&out).unwrap().len() > 0;
        eventually(at, PATIENCE, || has_printed().then_some(())).await;
        // A command that must be stopped must not exit by itself.
        assert_eq!(child.try_wait().unwrap(), None, "{at}: {:?}", fs::read_to_string(&out));
        send_signal(i32::try_from(child.id()).unwrap(), Signal::SIGINT);
        let ended = eventually(at, PATIENCE, || child.try_wait().unwrap()).await;
        assert_ne!(ended.code(), Some(2), "{at}: {:?}", fs::read_to_string(&out));
    }

    async fn run_block(&self, document: &str, block: &CommandBlock) {
        let at = |line: usize| format!("{document}:{line}");
        let (mut printed, mut expected) = (String::new(), vec![]);
        let (mut is_stopped, mut code) = (false, 0);
        for mark in &block.marks {
            match mark {
                BlockMark::Skip => return,
                BlockMark::Stop => is_stopped = true,
                BlockMark::Expect(text) => expected.push(text.clone()),
                BlockMark::Exit(other) => code = *other,
            }
        }
        for command in &block.commands {
            if is_stopped {
                self.run_and_stop(command, &at(command.number)).await;
            } else {
                let said = self.run_until_as_documented(command, code, &at(command.number)).await;
                printed.extend([said.stdout, said.stderr]);
            }
        }
        for text in expected {
            assert!(printed.contains(&text), "{} lacks {text:?}:\n{printed}", at(block.number));
        }
    }
}

fn write_script(path: &Path, text: &str) {
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn every_command_of_the_readme_and_the_guides_runs_as_written() {
    for document in list_documents() {
        let all = parse_blocks(&fs::read_to_string(root().join(&document)).unwrap());
        let all = all.unwrap_or_else(|fault| panic!("{document}:{fault}"));
        if all.iter().all(CommandBlock::is_skipped) {
            continue;
        }
        let reader = DocumentReader::new().await;
        for block in &all {
            reader.run_block(&document, block).await;
        }
    }
}
