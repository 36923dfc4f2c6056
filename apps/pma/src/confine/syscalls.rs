//! The system call filter: no programs, no processes, no way around either.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op,
    SeccompCondition as Condition, SeccompFilter, SeccompRule as Rule, TargetArch,
};

/// Refused with "operation not permitted".
const DENIED: &[i64] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_open_by_handle_at,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
];
/// The second numbering of the same calls on `x86_64`, which a filter must name as well.
const X32: i64 = 0x4000_0000;

/// Installs the filter. Says if it is enforced: not on architectures it does not know.
pub(super) fn restrict() -> Result<bool, seccompiler::Error> {
    let Ok(arch) = TargetArch::try_from(std::env::consts::ARCH) else { return Ok(false) };
    // The flags of clone3 are behind a pointer that no filter can read. Libraries fall back to
    // clone when the kernel does not have it.
    let unknown = BTreeMap::from([(libc::SYS_clone3, vec![])]);
    for (rules, errno) in [(denied()?, libc::EPERM), (unknown, libc::ENOSYS)] {
        seccompiler::apply_filter(&program(rules, errno, arch)?)?;
    }
    Ok(true)
}

fn program(
    mut rules: BTreeMap<i64, Vec<Rule>>,
    errno: i32,
    arch: TargetArch,
) -> Result<BpfProgram, BackendError> {
    if arch == TargetArch::x86_64 {
        let second: Vec<_> =
            rules.iter().map(|(call, rules)| (call | X32, rules.clone())).collect();
        rules.extend(second);
    }
    let errno = SeccompAction::Errno(errno.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, errno, arch)?.try_into()
}

fn denied() -> Result<BTreeMap<i64, Vec<Rule>>, BackendError> {
    let mut rules: BTreeMap<_, _> = DENIED.iter().map(|call| (*call, vec![])).collect();
    let thread = u64::from(libc::CLONE_THREAD.unsigned_abs());
    // A thread shares this process and its rules; anything else would be a process of its own.
    let no_thread = Condition::new(0, Len::Qword, Op::MaskedEq(thread), 0)?;
    rules.insert(libc::SYS_clone, vec![Rule::new(vec![no_thread])?]);
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_of_the_project_manager_compiles_for_every_architecture_it_knows() {
        for arch in [TargetArch::x86_64, TargetArch::aarch64] {
            assert!(program(denied().unwrap(), 1, arch).is_ok());
        }
    }
}
