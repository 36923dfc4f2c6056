//! Giving up, before any thread starts, every power that this process has no use for.
//!
//! Landlock leaves it a few files to read, the removal of its own socket, the records of exchanges that it
//! was asked to keep, and connections to the orchestrator's port. The system call filter takes away
//! starting programs and processes, reaching into others, and every socket that is not a connection by TCP.
//! Both hold for every thread that starts later, and nothing can take them back.
//!
//! Invariant: [`confine`] is called while the process has one thread.

mod descriptors;
mod files;
mod sockets;
mod syscalls;

use std::path::PathBuf;

use caps::CapSet;
use cynode_agent::brain::CassetteMode;

pub(crate) use descriptors::close_inherited;

/// What the process still needs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Needs {
    /// The directory of its socket, from which it removes the socket at the end.
    pub(crate) socket_dir: Option<PathBuf>,
    /// The port of the orchestrator.
    pub(crate) orchestrator_port: u16,
    /// Whether the orchestrator's address is a name that must be looked up, which takes UDP.
    pub(crate) looks_up_names: bool,
    /// Whether it keeps or reads records of exchanges, and where.
    pub(crate) cassette: CassetteMode,
}

/// How far the kernel went along.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Level {
    /// Whether files are out of reach.
    pub(crate) files: bool,
    /// Whether connections to other ports are.
    pub(crate) network: bool,
    /// Whether programs and processes cannot be started.
    pub(crate) syscalls: bool,
}

impl Level {
    /// What is missing, in words; nothing if all that matters is enforced.
    pub(crate) fn missing(self) -> Vec<&'static str> {
        let all = [
            (self.files, "Landlock, which keeps it from files (kernel 5.13 or newer)"),
            (self.network, "Landlock's rules for the network (kernel 6.7 or newer)"),
            (
                self.syscalls,
                "the system call filter, which keeps it from starting programs and from other sockets",
            ),
        ];
        all.into_iter().filter(|(is_enforced, _)| !is_enforced).map(|(_, what)| what).collect()
    }

    /// Whether the process can neither start programs nor write files.
    pub(crate) fn is_enough(self) -> bool {
        self.files && self.syscalls
    }
}

/// Confines this process as far as the kernel can. What cannot be enforced is told, not refused.
pub(crate) fn confine(needs: &Needs) -> anyhow::Result<Level> {
    // As root it could otherwise undo what follows from outside the rules, by other means.
    for set in [CapSet::Ambient, CapSet::Effective, CapSet::Permitted, CapSet::Inheritable] {
        caps::clear(None, set)?;
    }
    let (files, network) = files::restrict(needs)?;
    let syscalls = syscalls::restrict(needs.looks_up_names)?;
    Ok(Level { files, network, syscalls })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_could_start_programs_or_write_is_not_confined_enough() {
        let whole = Level { files: true, network: true, syscalls: true };

        assert!(whole.is_enough() && whole.missing().is_empty());
        assert!(Level { network: false, ..whole }.is_enough());
        assert!(!Level { files: false, ..whole }.is_enough());
        assert!(!Level { syscalls: false, ..whole }.is_enough());
        assert_eq!(Level::default().missing().len(), 3);
    }
}
