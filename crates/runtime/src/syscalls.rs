//! Seccomp filters for the current process and its descendants. They cannot be removed.

mod number_filter;

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompFilter, SeccompRule, TargetArch,
};

use number_filter::NumberActions;

/// Rules by system call; a call that matches one of its rules, or has none, is denied.
pub type SyscallRules = BTreeMap<i64, Vec<SeccompRule>>;

/// Lets only these calls pass; others return `ENOSYS`. Returns whether the filter is enforced: it is not on unsupported
/// architectures.
pub fn allow_syscalls(calls: impl Iterator<Item = i64>) -> Result<bool, seccompiler::Error> {
    let Ok(arch) = TargetArch::try_from(std::env::consts::ARCH) else { return Ok(false) };
    let mut actions = NumberActions::with_default(deny_with(libc::ENOSYS));
    for call in calls {
        actions.set(call, libc::SECCOMP_RET_ALLOW);
    }
    seccompiler::apply_filter(&actions.compile(arch))?;
    Ok(true)
}

/// Denies these calls with `EPERM`. Returns whether the filter is enforced: it is not on unsupported
/// architectures.
///
/// `clone3` returns `ENOSYS`: its flags are behind a pointer that a filter cannot read, and libraries
/// fall back to `clone`.
pub fn deny_syscalls(rules: SyscallRules) -> Result<bool, seccompiler::Error> {
    let Ok(arch) = TargetArch::try_from(std::env::consts::ARCH) else { return Ok(false) };
    // Compiled before the first is applied: that one may deny what the compilation needs.
    for program in compile_denials(rules, arch)? {
        seccompiler::apply_filter(&program)?;
    }
    Ok(true)
}

/// Checks that these rules compile on every supported architecture.
pub fn check_rules(rules: &SyscallRules) -> Result<(), BackendError> {
    [TargetArch::x86_64, TargetArch::aarch64]
        .into_iter()
        .try_for_each(|arch| compile_denials(rules.clone(), arch).map(drop))
}

/// One program for the calls that are denied whatever their arguments are, and one for the others.
fn compile_denials(rules: SyscallRules, arch: TargetArch) -> Result<Vec<BpfProgram>, BackendError> {
    let (always, by_argument): (SyscallRules, SyscallRules) =
        rules.into_iter().partition(|(_, rules)| rules.is_empty());
    let mut actions = NumberActions::with_default(libc::SECCOMP_RET_ALLOW);
    for call in always.into_keys() {
        actions.set(call, deny_with(libc::EPERM));
    }
    actions.set(libc::SYS_clone3, deny_with(libc::ENOSYS));
    if arch == TargetArch::x86_64 {
        actions.deny_x32();
    }
    let mut programs = vec![actions.compile(arch)];
    if !by_argument.is_empty() {
        let errno = SeccompAction::Errno(libc::EPERM.unsigned_abs());
        let filter = SeccompFilter::new(by_argument, SeccompAction::Allow, errno, arch)?;
        programs.push(filter.try_into()?);
    }
    Ok(programs)
}

fn deny_with(errno: i32) -> u32 {
    libc::SECCOMP_RET_ERRNO | errno.unsigned_abs()
}
