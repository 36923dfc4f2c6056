//! The system calls that a project manager or analyst may use: files that it reads, connections, threads, memory and time.
//! All others return `ENOSYS`, as on a kernel that does not have them. `syscalls` denies uses of these by their arguments.

use nix::libc;

/// Collects the numbers of calls by their names.
macro_rules! calls {
    ($($name:ident)+) => { &[$(libc::$name),+] };
}

/// The calls of this architecture.
pub(super) fn allowed_calls() -> impl Iterator<Item = i64> {
    ALLOWED.iter().copied().flatten().copied().chain(ALLOWED_HERE.iter().copied())
}

const ALLOWED: &[&[i64]] = &[FILES, EVENTS, MEMORY, THREADS, SIGNALS_AND_TIME, CONNECTIONS];

/// Reading, and writing where Landlock permits it: the socket and the recording of exchanges with models.
const FILES: &[i64] = calls! {
    SYS_read SYS_write SYS_readv SYS_writev SYS_pread64 SYS_pwrite64 SYS_lseek SYS_close SYS_close_range SYS_dup SYS_dup3
    SYS_fcntl SYS_ioctl SYS_flock SYS_fsync SYS_fdatasync SYS_ftruncate SYS_openat SYS_mkdirat SYS_unlinkat SYS_renameat
    SYS_renameat2 SYS_linkat SYS_readlinkat SYS_faccessat SYS_faccessat2 SYS_getcwd SYS_umask SYS_newfstatat SYS_fstat SYS_statx
    SYS_statfs SYS_fstatfs SYS_getdents64 SYS_fadvise64 SYS_copy_file_range
};

const EVENTS: &[i64] = calls! {
    SYS_eventfd2 SYS_epoll_create1 SYS_epoll_ctl SYS_epoll_pwait SYS_epoll_pwait2 SYS_ppoll SYS_pselect6
    SYS_timerfd_create SYS_timerfd_settime SYS_timerfd_gettime SYS_pipe2
};

const MEMORY: &[i64] = calls! {
    SYS_mmap SYS_munmap SYS_mprotect SYS_mremap SYS_madvise SYS_brk SYS_mlock SYS_munlock SYS_mincore SYS_get_mempolicy
    SYS_mbind SYS_membarrier
};

const THREADS: &[i64] = calls! {
    SYS_clone SYS_clone3 SYS_exit SYS_exit_group SYS_getpid SYS_getppid SYS_gettid SYS_getpgid SYS_getsid SYS_getuid
    SYS_geteuid SYS_getgid SYS_getegid SYS_getgroups SYS_capget SYS_prctl SYS_seccomp SYS_set_tid_address SYS_set_robust_list
    SYS_get_robust_list SYS_rseq SYS_futex SYS_sched_yield SYS_sched_getaffinity SYS_getcpu SYS_getrusage SYS_prlimit64
    SYS_sysinfo SYS_uname SYS_restart_syscall SYS_getrandom SYS_wait4 SYS_waitid
};

const SIGNALS_AND_TIME: &[i64] = calls! {
    SYS_tgkill SYS_rt_sigaction SYS_rt_sigprocmask SYS_rt_sigreturn SYS_rt_sigpending SYS_rt_sigtimedwait SYS_rt_sigsuspend
    SYS_sigaltstack SYS_nanosleep SYS_clock_nanosleep SYS_clock_gettime SYS_clock_getres SYS_gettimeofday
};

const CONNECTIONS: &[i64] = calls! {
    SYS_socket SYS_socketpair SYS_bind SYS_listen SYS_accept SYS_accept4 SYS_connect SYS_getsockname SYS_getpeername
    SYS_sendto SYS_recvfrom SYS_setsockopt SYS_getsockopt SYS_shutdown SYS_sendmsg SYS_recvmsg SYS_sendmmsg SYS_recvmmsg
};

/// Calls that newer architectures replaced by more general ones.
#[cfg(target_arch = "x86_64")]
const ALLOWED_HERE: &[i64] = calls! {
    SYS_open SYS_stat SYS_lstat SYS_access SYS_unlink SYS_mkdir SYS_rename SYS_readlink SYS_dup2 SYS_pipe SYS_poll SYS_select
    SYS_epoll_create SYS_epoll_wait SYS_eventfd SYS_time SYS_getrlimit SYS_arch_prctl SYS_getpgrp
};
#[cfg(not(target_arch = "x86_64"))]
const ALLOWED_HERE: &[i64] = &[];
