//! Landlock rules for files and for the orchestrator's port.

use cynode_agent::brain::CassetteMode;
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, NetPort, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
    path_beneath_rules,
};

use super::ConfinementNeeds;

/// The newest ABI this code supports; an older kernel enforces a subset.
const NEWEST_ABI: ABI = ABI::V6;
/// The first ABI with network rules.
const NETWORK_ABI: ABI = ABI::V4;
/// Files needed for name resolution and TLS certificates. Missing paths are skipped.
const READABLE: [&str; 14] = [
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/nsswitch.conf",
    "/etc/gai.conf",
    "/etc/services",
    "/etc/ld.so.cache",
    "/etc/ssl",
    "/etc/pki",
    "/usr/share/ca-certificates",
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
];
const DEVICES: [&str; 3] = ["/dev/null", "/dev/urandom", "/dev/random"];

/// Installs the rules; returns whether the file rules and the network rules are enforced.
pub(super) fn restrict(needs: &ConfinementNeeds) -> Result<(bool, bool), RulesetError> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let socket_dir = needs.socket_dir.as_slice();
    let (kept, replayed) = match &needs.cassette {
        CassetteMode::Off => (None, None),
        CassetteMode::Record(folder) => (Some(folder), None),
        CassetteMode::Replay(folder) => (None, Some(folder)),
    };
    let keep = read | AccessFs::WriteFile | AccessFs::MakeReg | AccessFs::MakeDir;
    let keep = keep | AccessFs::RemoveFile | AccessFs::Truncate;
    let files = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST_ABI))?
        .scope(Scope::from_all(NEWEST_ABI))?
        .create()?
        .add_rules(path_beneath_rules(READABLE, read))?
        .add_rules(path_beneath_rules(DEVICES, AccessFs::ReadFile))?
        .add_rules(path_beneath_rules(socket_dir, AccessFs::RemoveFile))?
        .add_rules(path_beneath_rules(kept, keep))?
        .add_rules(path_beneath_rules(replayed, read))?
        .restrict_self()?;
    let network = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessNet::from_all(NETWORK_ABI))?
        .create()?
        .add_rule(NetPort::new(needs.orchestrator_port, AccessNet::ConnectTcp))?
        .restrict_self()?;
    let is_enforced = |status| status != RulesetStatus::NotEnforced;
    Ok((is_enforced(files.ruleset), is_enforced(network.ruleset)))
}
