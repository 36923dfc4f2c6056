//! The system call filter: calls no job needs, refused before the kernel looks at them.

use cynode_runtime::syscalls::{self, Rules};
use nix::libc;
use seccompiler::{
    BackendError, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition as Condition,
    SeccompRule as Rule,
};

/// Refused with "operation not permitted".
const DENIED: &[i64] = &[
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
/// What `clone` can be asked for (`unshare` alone makes time namespaces). New namespaces would give powers inside them, and with those a larger kernel to attack.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];
/// Others, such as the one between a virtual machine and its host, know no network namespace.
const SOCKETS: [i32; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// Installs the filter. Says if it is enforced: not on architectures it does not know.
pub(super) fn restrict() -> Result<bool, seccompiler::Error> {
    syscalls::refuse(denied()?)
}

fn denied() -> Result<Rules, BackendError> {
    let mut rules: Rules = DENIED.iter().map(|call| (*call, vec![])).collect();
    let namespaces = NAMESPACES.map(|flag| {
        let flag = u64::from(flag.unsigned_abs());
        Rule::new(vec![Condition::new(0, Len::Qword, Op::MaskedEq(flag), flag)?])
    });
    rules.insert(libc::SYS_clone, namespaces.into_iter().collect::<Result<_, _>>()?);
    let other_sockets = SOCKETS
        .map(|domain| Condition::new(0, Len::Dword, Op::Ne, u64::from(domain.unsigned_abs())));
    let other_sockets = other_sockets.into_iter().collect::<Result<_, _>>()?;
    rules.insert(libc::SYS_socket, vec![Rule::new(other_sockets)?]);
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_compiles_for_every_architecture_it_knows() {
        syscalls::compile(&denied().unwrap()).unwrap();
    }
}
