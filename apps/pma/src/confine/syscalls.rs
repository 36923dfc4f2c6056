//! The system call filters: a list of allowed calls, and rules that deny starting programs and processes, sockets other
//! than the connection to the orchestrator, and every known way around these rules with `EPERM`.

use cynode_runtime::syscalls::{self, SyscallRules};
use nix::libc;
use seccompiler::{
    BackendError, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition as Condition,
    SeccompRule as Rule,
};

use super::allowed_syscalls::allowed_calls;
use super::sockets;

/// Denied with `EPERM`.
const DENIED: &[&[i64]] = &[PROGRAMS, OTHERS, FILES, MEMORY, SYSTEM, OLD];
/// Start programs.
const PROGRAMS: &[i64] = &[libc::SYS_execve, libc::SYS_execveat];
/// Access other processes of the same user.
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
/// File operations that Landlock does not cover: modes, owners, times, attributes and watches.
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
/// Shared memory and queues, in-memory files, and user-space page faults.
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
/// Mounts, namespaces, `io_uring`, and other kernel features that this process does not need.
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
/// Legacy calls that newer architectures do not have.
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
/// Calls that `libc` does not define on every target; their numbers are the same on all architectures.
const FCHMODAT2: i64 = 452;
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;

/// Installs the filters; returns whether they are enforced, which unknown architectures cannot do. Where both deny a
/// call, the process gets the error of the one that was installed last.
pub(super) fn restrict(looks_up_names: bool) -> Result<bool, seccompiler::Error> {
    let rules = denied_calls(looks_up_names)?;
    Ok(syscalls::allow_syscalls(allowed_calls())? && syscalls::deny_syscalls(rules)?)
}

fn denied_calls(looks_up_names: bool) -> Result<SyscallRules, BackendError> {
    let mut rules: SyscallRules =
        DENIED.iter().copied().flatten().map(|call| (*call, vec![])).collect();
    let thread = u64::from(libc::CLONE_THREAD.unsigned_abs());
    // Only threads may be created: they share the process and its rules.
    let no_thread = Condition::new(0, Len::Qword, Op::MaskedEq(thread), 0)?;
    rules.insert(libc::SYS_clone, vec![Rule::new(vec![no_thread])?]);
    // `abort` sends a signal to the own process.
    let own = u64::from(std::process::id());
    let others = Condition::new(0, Len::Dword, Op::Ne, own)?;
    rules.insert(libc::SYS_tgkill, vec![Rule::new(vec![others])?]);
    // Input injected into the controlling terminal would be executed by its shell.
    let typing = [libc::TIOCSTI, libc::TIOCLINUX]
        .map(|what| Rule::new(vec![Condition::new(1, Len::Dword, Op::Eq, what)?]));
    rules.insert(libc::SYS_ioctl, typing.into_iter().collect::<Result<_, _>>()?);
    rules.extend(sockets::denied_socket_calls(looks_up_names)?);
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_of_the_project_manager_compiles_for_every_architecture_it_knows() {
        for looks_up_names in [false, true] {
            syscalls::check_rules(&denied_calls(looks_up_names).unwrap()).unwrap();
        }
    }
}
