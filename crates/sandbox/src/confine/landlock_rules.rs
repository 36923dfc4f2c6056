//! Landlock rules: a second layer of file access control, independent of the mounts.

use landlock::{
    ABI, Access as _, AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

/// The newest supported ABI; an older kernel enforces the subset it has.
const RULES: ABI = ABI::V6;
/// Those that do not exist are skipped.
const WRITABLE: [&str; 5] = ["/workspace", "/job/artifacts", "/job/cache", "/tmp", "/dev/shm"];
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Allows reading everywhere and writing to the job's own directories. Returns whether it is enforced.
pub(super) fn restrict_files() -> Result<bool, RulesetError> {
    let devices = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(RULES))?
        .scope(Scope::from_all(RULES))?
        .create()?
        .add_rules(path_beneath_rules(["/"], AccessFs::from_read(RULES)))?
        .add_rules(path_beneath_rules(WRITABLE, AccessFs::from_all(RULES)))?
        .add_rules(path_beneath_rules(DEVICES, devices))?
        .restrict_self()?;
    Ok(status.ruleset != RulesetStatus::NotEnforced)
}
