//! Identity of a sandbox's PID 1: tells whether it is alive after its supervisor was killed.
//!
//! A killed supervisor releases the job's lock at once, while the kernel is still ending the sandbox. PID 1 is gone,
//! or a zombie, only after the kernel has ended every other process of the sandbox. PID 1 therefore records its
//! process id before it starts the command, and the job has not ended while that process is alive.

use std::fs;
use std::io;
use std::path::Path;

use nix::errno::Errno;
use serde::{Deserialize, Serialize};

/// A process, distinguished by its start time from a later one with the same id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SandboxProcess {
    pid: u32,
    /// In clock ticks since boot.
    start_time: u64,
}

impl SandboxProcess {
    /// The calling process, with its id in the namespace where `/proc` was mounted: for PID 1 of a sandbox that has not
    /// built its own root yet, the id that the node sees.
    pub(crate) fn current() -> io::Result<Self> {
        Self::read("self")
    }

    /// Whether the process has ended. An unreadable state counts as alive, unless `/proc` does not list the process.
    pub(crate) fn has_ended(self) -> bool {
        match ProcessStat::read(&self.pid.to_string()) {
            Ok(stat) => stat.process != self || matches!(stat.state, 'Z' | 'X'),
            Err(error) => {
                let is_unknown = error.raw_os_error() == Some(Errno::ESRCH as i32);
                is_unknown || error.kind() == io::ErrorKind::NotFound
            }
        }
    }

    fn read(name: &str) -> io::Result<Self> {
        Ok(ProcessStat::read(name)?.process)
    }
}

/// Parsed `/proc/<pid>/stat`.
struct ProcessStat {
    process: SandboxProcess,
    state: char,
}

impl ProcessStat {
    fn read(name: &str) -> io::Result<Self> {
        let text = fs::read_to_string(Path::new("/proc").join(name).join("stat"))?;
        Self::parse(&text).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
    }

    /// The program name is in parentheses and may itself contain spaces and parentheses.
    fn parse(text: &str) -> Option<Self> {
        let (pid, _) = text.split_once(' ')?;
        let (_, fields) = text.rsplit_once(')')?;
        let mut fields = fields.split_ascii_whitespace();
        let state = fields.next()?.chars().next()?;
        // Field 22 of the line; the state is field 3.
        let start_time = fields.nth(18)?.parse().ok()?;
        Some(Self { process: SandboxProcess { pid: pid.parse().ok()?, start_time }, state })
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn the_name_of_a_program_does_not_confuse_the_fields() {
        let text = "42 (a ) b (c) R 1 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 9876 1 2";

        let stat = ProcessStat::parse(text).unwrap();

        assert_eq!(stat.process, SandboxProcess { pid: 42, start_time: 9876 });
        assert_eq!(stat.state, 'R');
    }

    #[test]
    fn a_process_has_ended_once_it_is_a_zombie_gone_or_another_one() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let process = SandboxProcess::read(&child.id().to_string()).unwrap();
        let later = SandboxProcess { start_time: process.start_time + 1, ..process };
        assert!(!process.has_ended());
        assert!(later.has_ended(), "the id belongs to another process");

        child.kill().unwrap();
        while !process.has_ended() {
            std::thread::yield_now();
        }

        child.wait().unwrap();
        assert!(process.has_ended());
        assert!(!SandboxProcess::current().unwrap().has_ended());
    }
}
