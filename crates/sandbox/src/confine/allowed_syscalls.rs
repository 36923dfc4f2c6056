//! The system calls that programs in a sandbox may use. All others return `ENOSYS`, as on a kernel that does not have
//! them: programs that probe for a newer call fall back to an older one.

use nix::libc;

/// Collects the numbers of calls by their names.
macro_rules! calls {
    ($($name:ident)+) => { &[$(libc::$name),+] };
}

/// On every architecture.
pub(super) const ALLOWED: &[&[i64]] =
    &[FILES, EVENTS, MEMORY, PROCESSES, SIGNALS_AND_TIME, COMMUNICATION];

const FILES: &[i64] = calls! {
    SYS_read SYS_write SYS_readv SYS_writev SYS_pread64 SYS_pwrite64 SYS_preadv SYS_pwritev SYS_preadv2 SYS_pwritev2
    SYS_sendfile SYS_splice SYS_tee SYS_vmsplice SYS_copy_file_range SYS_lseek SYS_close SYS_close_range SYS_dup SYS_dup3
    SYS_fcntl SYS_ioctl SYS_flock SYS_fsync SYS_fdatasync SYS_sync SYS_syncfs SYS_sync_file_range SYS_ftruncate SYS_truncate
    SYS_fallocate SYS_fadvise64 SYS_readahead SYS_openat SYS_openat2 SYS_mkdirat SYS_mknodat SYS_unlinkat SYS_symlinkat
    SYS_linkat SYS_renameat SYS_renameat2 SYS_readlinkat SYS_faccessat SYS_faccessat2 SYS_fchmod SYS_fchmodat SYS_fchmodat2
    SYS_fchown SYS_fchownat SYS_chdir SYS_fchdir SYS_getcwd SYS_umask SYS_newfstatat SYS_fstat SYS_statx SYS_statfs
    SYS_fstatfs SYS_getdents64 SYS_utimensat SYS_setxattr SYS_lsetxattr SYS_fsetxattr SYS_getxattr SYS_lgetxattr
    SYS_fgetxattr SYS_listxattr SYS_llistxattr SYS_flistxattr SYS_removexattr SYS_lremovexattr SYS_fremovexattr
    SYS_io_setup SYS_io_destroy SYS_io_submit SYS_io_cancel SYS_io_getevents
};

const EVENTS: &[i64] = calls! {
    SYS_inotify_init1 SYS_inotify_add_watch SYS_inotify_rm_watch SYS_eventfd2 SYS_epoll_create1 SYS_epoll_ctl
    SYS_epoll_pwait SYS_epoll_pwait2 SYS_ppoll SYS_pselect6 SYS_signalfd4 SYS_timerfd_create SYS_timerfd_settime
    SYS_timerfd_gettime SYS_pipe2
};

/// Not `memfd_secret`, whose pages are not counted.
const MEMORY: &[i64] = calls! {
    SYS_mmap SYS_munmap SYS_mprotect SYS_mremap SYS_madvise SYS_brk SYS_mlock SYS_mlock2 SYS_mlockall SYS_munlock
    SYS_munlockall SYS_msync SYS_mincore SYS_mbind SYS_get_mempolicy SYS_set_mempolicy SYS_memfd_create SYS_membarrier
    SYS_pkey_alloc SYS_pkey_free SYS_pkey_mprotect SYS_remap_file_pages
};

const PROCESSES: &[i64] = calls! {
    SYS_clone SYS_clone3 SYS_execve SYS_execveat SYS_exit SYS_exit_group SYS_wait4 SYS_waitid SYS_getpid SYS_getppid
    SYS_gettid SYS_getpgid SYS_setpgid SYS_getsid SYS_setsid SYS_getuid SYS_geteuid SYS_getgid SYS_getegid SYS_getresuid
    SYS_getresgid SYS_setuid SYS_setgid SYS_setreuid SYS_setregid SYS_setresuid SYS_setresgid SYS_setfsuid SYS_setfsgid
    SYS_getgroups SYS_setgroups SYS_capget SYS_capset SYS_prctl SYS_personality SYS_seccomp SYS_landlock_create_ruleset
    SYS_landlock_add_rule SYS_landlock_restrict_self SYS_set_tid_address SYS_set_robust_list SYS_get_robust_list SYS_rseq
    SYS_futex SYS_futex_waitv SYS_sched_yield SYS_sched_setaffinity SYS_sched_getaffinity SYS_sched_setscheduler
    SYS_sched_getscheduler SYS_sched_setparam SYS_sched_getparam SYS_sched_setattr SYS_sched_getattr
    SYS_sched_get_priority_max SYS_sched_get_priority_min SYS_sched_rr_get_interval SYS_setpriority SYS_getpriority
    SYS_ioprio_set SYS_ioprio_get SYS_getcpu SYS_getrusage SYS_times SYS_prlimit64 SYS_sysinfo SYS_uname
    SYS_restart_syscall SYS_pidfd_open SYS_pidfd_send_signal SYS_getrandom
};

const SIGNALS_AND_TIME: &[i64] = calls! {
    SYS_kill SYS_tkill SYS_tgkill SYS_rt_sigaction SYS_rt_sigprocmask SYS_rt_sigreturn SYS_rt_sigpending
    SYS_rt_sigtimedwait SYS_rt_sigqueueinfo SYS_rt_tgsigqueueinfo SYS_rt_sigsuspend SYS_sigaltstack SYS_nanosleep
    SYS_clock_nanosleep SYS_clock_gettime SYS_clock_getres SYS_gettimeofday SYS_getitimer SYS_setitimer SYS_timer_create
    SYS_timer_settime SYS_timer_gettime SYS_timer_getoverrun SYS_timer_delete
};

const COMMUNICATION: &[i64] = calls! {
    SYS_socket SYS_socketpair SYS_bind SYS_listen SYS_accept SYS_accept4 SYS_connect SYS_getsockname SYS_getpeername
    SYS_sendto SYS_recvfrom SYS_setsockopt SYS_getsockopt SYS_shutdown SYS_sendmsg SYS_recvmsg SYS_sendmmsg SYS_recvmmsg
    SYS_shmget SYS_shmat SYS_shmdt SYS_shmctl SYS_semget SYS_semop SYS_semtimedop SYS_semctl SYS_msgget SYS_msgsnd
    SYS_msgrcv SYS_msgctl SYS_mq_open SYS_mq_unlink SYS_mq_timedsend SYS_mq_timedreceive SYS_mq_notify SYS_mq_getsetattr
};

/// Calls that newer architectures replaced by more general ones.
#[cfg(target_arch = "x86_64")]
pub(super) const ALLOWED_HERE: &[i64] = calls! {
    SYS_open SYS_creat SYS_stat SYS_lstat SYS_access SYS_link SYS_unlink SYS_symlink SYS_readlink SYS_mkdir SYS_rmdir
    SYS_rename SYS_mknod SYS_chmod SYS_chown SYS_lchown SYS_utime SYS_utimes SYS_futimesat SYS_getdents SYS_dup2 SYS_pipe
    SYS_poll SYS_select SYS_epoll_create SYS_epoll_wait SYS_eventfd SYS_signalfd SYS_inotify_init SYS_fork SYS_vfork
    SYS_pause SYS_alarm SYS_getpgrp SYS_time SYS_getrlimit SYS_setrlimit SYS_arch_prctl
    SYS_set_thread_area SYS_get_thread_area
};
#[cfg(not(target_arch = "x86_64"))]
pub(super) const ALLOWED_HERE: &[i64] = &[];
