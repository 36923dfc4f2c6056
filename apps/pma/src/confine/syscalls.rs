//! The system call filter: no programs, no processes, nobody to talk to but the orchestrator, and no
//! way around any of it.

use cynode_runtime::syscalls::{self, Rules};
use nix::libc;
use seccompiler::{
    BackendError, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition as Condition,
    SeccompRule as Rule,
};

use super::sockets;

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

/// Installs the filter. Says if it is enforced: not on architectures it does not know.
pub(super) fn restrict(looks_up_names: bool) -> Result<bool, seccompiler::Error> {
    syscalls::refuse(denied(looks_up_names)?)
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
        for looks_up_names in [false, true] {
            syscalls::compile(&denied(looks_up_names).unwrap()).unwrap();
        }
    }
}
