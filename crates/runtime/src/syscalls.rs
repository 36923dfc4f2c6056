//! Refusing system calls to the process one is in, for good: it and whatever it becomes.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompFilter, SeccompRule, TargetArch, sock_filter,
};

/// Rules for each call; a call that one of its rules fits, or that has none, is refused.
pub type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Where the second numbering of calls begins on `x86_64`. Some calls have numbers of their own in
/// it, and nothing of ours uses it.
const X32: u32 = 0x4000_0000;

/// Refuses these calls with "operation not permitted". Says if that is enforced: not on
/// architectures that the filter does not know.
///
/// `clone3` does not exist for the process either: its flags are behind a pointer that no filter
/// can read, and libraries fall back to `clone`.
pub fn refuse(rules: Rules) -> Result<bool, seccompiler::Error> {
    let Ok(arch) = TargetArch::try_from(std::env::consts::ARCH) else { return Ok(false) };
    let absent = BTreeMap::from([(libc::SYS_clone3, vec![])]);
    let programs = [program(rules, libc::EPERM, arch)?, program(absent, libc::ENOSYS, arch)?];
    if arch == TargetArch::x86_64 {
        seccompiler::apply_filter(&second_numbering())?;
    }
    for program in programs {
        seccompiler::apply_filter(&program)?;
    }
    Ok(true)
}

/// Whether the kernel's filters can be made of these rules on every architecture that is known.
pub fn compile(rules: &Rules) -> Result<(), BackendError> {
    [TargetArch::x86_64, TargetArch::aarch64]
        .into_iter()
        .try_for_each(|arch| program(rules.clone(), libc::EPERM, arch).map(drop))
}

fn program(rules: Rules, errno: i32, arch: TargetArch) -> Result<BpfProgram, BackendError> {
    let errno = SeccompAction::Errno(errno.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, errno, arch)?.try_into()
}

/// Refuses every call of the second numbering.
fn second_numbering() -> BpfProgram {
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    let no = libc::SECCOMP_RET_ERRNO | libc::EPERM.unsigned_abs();
    let line = |code, k| sock_filter { code, jt: 0, jf: 0, k };
    vec![
        line(LOAD_NUMBER, 0),
        sock_filter { jf: 1, ..line(JUMP_IF_AT_LEAST, X32) },
        line(RETURN, no),
        line(RETURN, libc::SECCOMP_RET_ALLOW),
    ]
}
