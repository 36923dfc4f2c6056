//! Seccomp filters for the current process and its descendants. They cannot be removed.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompFilter, SeccompRule, TargetArch, sock_filter,
};

/// Rules by system call; a call that matches one of its rules, or has none, is denied.
pub type SyscallRules = BTreeMap<i64, Vec<SeccompRule>>;

/// Start of the x32 system call numbers on `x86_64`. Some calls have other numbers there, and
/// CyNode does not use them.
const X32_SYSCALL_BIT: u32 = 0x4000_0000;

/// Lets only these calls pass; others return `ENOSYS`. Returns whether the filter is enforced: it is not on unsupported
/// architectures.
pub fn allow_syscalls(calls: impl Iterator<Item = i64>) -> Result<bool, seccompiler::Error> {
    let Ok(arch) = TargetArch::try_from(std::env::consts::ARCH) else { return Ok(false) };
    let absent = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
    let rules: SyscallRules = calls.map(|call| (call, vec![])).collect();
    let filter = SeccompFilter::new(rules, absent, SeccompAction::Allow, arch)?;
    seccompiler::apply_filter(&BpfProgram::try_from(filter)?)?;
    Ok(true)
}

/// Denies these calls with `EPERM`. Returns whether the filter is enforced: it is not on unsupported
/// architectures.
///
/// `clone3` returns `ENOSYS`: its flags are behind a pointer that a filter cannot read, and libraries
/// fall back to `clone`.
pub fn deny_syscalls(rules: SyscallRules) -> Result<bool, seccompiler::Error> {
    let Ok(arch) = TargetArch::try_from(std::env::consts::ARCH) else { return Ok(false) };
    let absent = BTreeMap::from([(libc::SYS_clone3, vec![])]);
    let programs =
        [compile_program(rules, libc::EPERM, arch)?, compile_program(absent, libc::ENOSYS, arch)?];
    if arch == TargetArch::x86_64 {
        seccompiler::apply_filter(&deny_x32())?;
    }
    for program in programs {
        seccompiler::apply_filter(&program)?;
    }
    Ok(true)
}

/// Checks that these rules compile on every supported architecture.
pub fn check_rules(rules: &SyscallRules) -> Result<(), BackendError> {
    [TargetArch::x86_64, TargetArch::aarch64]
        .into_iter()
        .try_for_each(|arch| compile_program(rules.clone(), libc::EPERM, arch).map(drop))
}

fn compile_program(
    rules: SyscallRules,
    errno: i32,
    arch: TargetArch,
) -> Result<BpfProgram, BackendError> {
    let errno = SeccompAction::Errno(errno.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, errno, arch)?.try_into()
}

/// Denies every x32 system call.
fn deny_x32() -> BpfProgram {
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    let no = libc::SECCOMP_RET_ERRNO | libc::EPERM.unsigned_abs();
    let line = |code, k| sock_filter { code, jt: 0, jf: 0, k };
    vec![
        line(LOAD_NUMBER, 0),
        sock_filter { jf: 1, ..line(JUMP_IF_AT_LEAST, X32_SYSCALL_BIT) },
        line(RETURN, no),
        line(RETURN, libc::SECCOMP_RET_ALLOW),
    ]
}
