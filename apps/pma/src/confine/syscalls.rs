//! The system call filter: no programs, no processes, nobody to talk to but the orchestrator, and no
//! way around any of it.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op,
    SeccompCondition as Condition, SeccompFilter, SeccompRule as Rule, TargetArch, sock_filter,
};

use super::sockets;

/// Rules for each call; a call that one of its rules fits, or that has none, is refused.
pub(super) type Rules = BTreeMap<i64, Vec<Rule>>;

/// Refused with "operation not permitted".
const DENIED: &[&[i64]] = &[PROGRAMS, OTHERS, FILES, MEMORY, SYSTEM, OLD];
/// Starting programs.
const PROGRAMS: &[i64] = &[libc::SYS_execve, libc::SYS_execveat];
/// Reaching into other processes, which are of the same user.
const OTHERS: &[i64] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_kcmp,
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
];
/// What Landlock leaves free: modes, owners, times and attributes of files, and watching them.
const FILES: &[i64] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    SETXATTRAT,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    REMOVEXATTRAT,
    libc::SYS_inotify_add_watch,
    libc::SYS_fanotify_init,
    libc::SYS_open_by_handle_at,
];
/// Memory and queues shared with others, programs without a file, and faults handled by hand.
const MEMORY: &[i64] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semctl,
    libc::SYS_semtimedop,
    libc::SYS_msgget,
    libc::SYS_msgctl,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_memfd_create,
    libc::SYS_memfd_secret,
    libc::SYS_userfaultfd,
];
/// Other rings and worlds, and parts of the kernel that this process has no use for.
const SYSTEM: &[i64] = &[
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fspick,
    libc::SYS_fsmount,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_syslog,
    libc::SYS_reboot,
];
/// What newer architectures have under other names only.
#[cfg(target_arch = "x86_64")]
const OLD: &[i64] = &[
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const OLD: &[i64] = &[];
/// Calls that the bindings do not know everywhere; their numbers are the same on all architectures.
const FCHMODAT2: i64 = 452;
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
/// Where the second numbering of calls begins on `x86_64`. Some calls have numbers of their own in it,
/// and nothing of ours uses it.
const X32: u32 = 0x4000_0000;

/// Installs the filter. Says if it is enforced: not on architectures it does not know.
pub(super) fn restrict(looks_up_names: bool) -> Result<bool, seccompiler::Error> {
    let Ok(arch) = TargetArch::try_from(std::env::consts::ARCH) else { return Ok(false) };
    // The flags of clone3 are behind a pointer that no filter can read. Libraries fall back to
    // clone when the kernel does not have it.
    let unknown = BTreeMap::from([(libc::SYS_clone3, vec![])]);
    let denied = denied(looks_up_names)?;
    if arch == TargetArch::x86_64 {
        seccompiler::apply_filter(&second_numbering())?;
    }
    for (rules, errno) in [(denied, libc::EPERM), (unknown, libc::ENOSYS)] {
        seccompiler::apply_filter(&program(rules, errno, arch)?)?;
    }
    Ok(true)
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

fn denied(looks_up_names: bool) -> Result<Rules, BackendError> {
    let mut rules: Rules = DENIED.iter().copied().flatten().map(|call| (*call, vec![])).collect();
    let thread = u64::from(libc::CLONE_THREAD.unsigned_abs());
    // A thread shares this process and its rules; anything else would be a process of its own.
    let no_thread = Condition::new(0, Len::Qword, Op::MaskedEq(thread), 0)?;
    rules.insert(libc::SYS_clone, vec![Rule::new(vec![no_thread])?]);
    // A process that aborts sends itself the signal.
    let own = u64::from(std::process::id());
    let others = Condition::new(0, Len::Dword, Op::Ne, own)?;
    rules.insert(libc::SYS_tgkill, vec![Rule::new(vec![others])?]);
    // Typing into the terminal that it was started from would be commands for the shell there.
    let typing = [libc::TIOCSTI, libc::TIOCLINUX]
        .map(|what| Rule::new(vec![Condition::new(1, Len::Dword, Op::Eq, what)?]));
    rules.insert(libc::SYS_ioctl, typing.into_iter().collect::<Result<_, _>>()?);
    rules.extend(sockets::denied(looks_up_names)?);
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_of_the_project_manager_compiles_for_every_architecture_it_knows() {
        for arch in [TargetArch::x86_64, TargetArch::aarch64] {
            for looks_up_names in [false, true] {
                assert!(program(denied(looks_up_names).unwrap(), 1, arch).is_ok());
            }
        }
    }
}
