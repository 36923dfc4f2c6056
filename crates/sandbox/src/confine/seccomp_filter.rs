//! The seccomp filter: allows the system calls that programs need, and denies dangerous ones by name or by argument.

use cynode_runtime::syscalls::{self, SyscallRules};
use nix::libc;

use super::allowed_syscalls::{ALLOWED, ALLOWED_HERE};
use seccompiler::{
    BackendError, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition as Condition,
    SeccompRule as Rule,
};

/// Denied with `EPERM`, which says that the call exists: programs report it better than `ENOSYS`.
const DENIED_SYSCALLS: &[i64] = &[
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kcmp,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
];
/// Namespace flags of `clone` (time namespaces need `unshare`). New namespaces would grant capabilities inside
/// them, and with those a larger attack surface of the kernel.
const NAMESPACE_FLAGS: [i32; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];
/// Other families, such as vsock, are not confined by a network namespace.
const ALLOWED_SOCKET_FAMILIES: [i32; 4] =
    [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// Installs the filter. Returns whether it is enforced: not on unsupported architectures.
pub(super) fn restrict_syscalls() -> Result<bool, seccompiler::Error> {
    // Of two filters that return an error, the one installed last decides which.
    Ok(syscalls::allow_syscalls(allowed_calls())? && syscalls::deny_syscalls(build_rules()?)?)
}

fn allowed_calls() -> impl Iterator<Item = i64> {
    let common = ALLOWED.iter().copied().flatten();
    // The denied ones too, so that the other filter answers.
    common.chain(ALLOWED_HERE).chain(DENIED_SYSCALLS).copied()
}

fn build_rules() -> Result<SyscallRules, BackendError> {
    let mut rules: SyscallRules = DENIED_SYSCALLS.iter().map(|call| (*call, vec![])).collect();
    let namespaces = NAMESPACE_FLAGS.map(|flag| {
        let flag = u64::from(flag.unsigned_abs());
        Rule::new(vec![Condition::new(0, Len::Qword, Op::MaskedEq(flag), flag)?])
    });
    rules.insert(libc::SYS_clone, namespaces.into_iter().collect::<Result<_, _>>()?);
    let other_sockets = ALLOWED_SOCKET_FAMILIES
        .map(|domain| Condition::new(0, Len::Dword, Op::Ne, u64::from(domain.unsigned_abs())));
    let other_sockets = other_sockets.into_iter().collect::<Result<_, _>>()?;
    rules.insert(libc::SYS_socket, vec![Rule::new(other_sockets)?]);
    // Limits of the calling process only: in a user namespace a job may change those of PID 1.
    let other_process = Condition::new(0, Len::Dword, Op::Ne, 0)?;
    rules.insert(libc::SYS_prlimit64, vec![Rule::new(vec![other_process])?]);
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_compiles_for_every_architecture_it_knows() {
        syscalls::check_rules(&build_rules().unwrap()).unwrap();
    }

    #[test]
    fn no_call_is_allowed_and_denied_or_listed_twice() {
        let mut listed: Vec<i64> = allowed_calls().collect();
        let count = listed.len();
        listed.sort_unstable();
        listed.dedup();
        assert_eq!(listed.len(), count);
        for risky in [libc::SYS_memfd_secret, libc::SYS_fanotify_init, libc::SYS_iopl] {
            assert!(!listed.contains(&risky));
        }
    }
}
