//! Confines the process with Landlock and a system call filter before any thread starts.
//!
//! Landlock permits reading a few files, removing the own socket, the configured cassette directory, and TCP
//! connections to the orchestrator's port. The system call filter denies starting programs and processes,
//! access to other processes, and every socket that is not a TCP connection. Both apply to every later thread
//! and cannot be undone.
//!
//! Invariant: [`confine`] is called while the process has one thread.

mod allowed_syscalls;
mod descriptors;
mod files;
mod sockets;
mod syscalls;

use std::path::PathBuf;

use caps::CapSet;
use cynode_agent::brain::CassetteMode;

pub(crate) use descriptors::close_inherited;

/// The access that the process keeps.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConfinementNeeds {
    /// The directory of its socket, which it removes at the end.
    pub(crate) socket_dir: Option<PathBuf>,
    pub(crate) orchestrator_port: u16,
    /// Whether the orchestrator's address is a host name: resolving it needs UDP.
    pub(crate) resolves_host_names: bool,
    /// The cassette directory to write or read.
    pub(crate) cassette: CassetteMode,
}

/// What the kernel enforces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ConfinementLevel {
    /// Access to files.
    pub(crate) files: bool,
    /// Connections to other ports.
    pub(crate) network: bool,
    /// The system call filter.
    pub(crate) syscalls: bool,
}

impl ConfinementLevel {
    /// The kernel features that are missing; empty if everything is enforced.
    pub(crate) fn missing_features(self) -> Vec<&'static str> {
        let all = [
            (self.files, "Landlock file rules (kernel 5.13 or newer)"),
            (self.network, "Landlock network rules (kernel 6.7 or newer)"),
            (self.syscalls, "the seccomp filter for programs and sockets"),
        ];
        all.into_iter().filter(|(is_enforced, _)| !is_enforced).map(|(_, what)| what).collect()
    }

    /// Whether the process can neither start programs nor write files.
    pub(crate) fn is_sufficient(self) -> bool {
        cynode_fault::fault!("PMA-01") || (self.files && self.syscalls)
    }
}

/// Confines this process as far as the kernel can; missing features are reported, not an error.
pub(crate) fn confine(needs: &ConfinementNeeds) -> anyhow::Result<ConfinementLevel> {
    // With root's capabilities the process could circumvent the rules below.
    for set in [CapSet::Ambient, CapSet::Effective, CapSet::Permitted, CapSet::Inheritable] {
        caps::clear(None, set)?;
    }
    let (files, network) = files::restrict(needs)?;
    let syscalls = syscalls::restrict(needs.resolves_host_names)?;
    Ok(ConfinementLevel { files, network, syscalls })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_could_start_programs_or_write_is_not_confined_enough() {
        let whole = ConfinementLevel { files: true, network: true, syscalls: true };

        assert!(whole.is_sufficient() && whole.missing_features().is_empty());
        assert!(ConfinementLevel { network: false, ..whole }.is_sufficient());
        assert!(!ConfinementLevel { files: false, ..whole }.is_sufficient());
        assert!(!ConfinementLevel { syscalls: false, ..whole }.is_sufficient());
        assert_eq!(ConfinementLevel::default().missing_features().len(), 3);
    }
}
