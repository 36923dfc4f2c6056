//! The worker node: accepts jobs, runs each in a sandbox and delivers its result.
//!
//! Start reading at [`agent`], the loop that polls the orchestrator; [`sandbox`] starts a job and
//! reports its end. A job involves four kinds of process, each running this same executable:
//!
//! ```text
//! node ── sandbox-shim ── sandbox-init (PID 1) ── sandbox-exec → the command
//!         one per job,    builds the private      limits itself,
//!         outlives node   filesystem, reaps       then becomes it
//! ```
//!
//! Invariant: a job directory is created before any process starts, and a job whose directory exists
//! is never started again, so a job runs at most once, even across crashes. Nothing here is `unsafe`:
//! privileges are dropped by the process that is about to exec the command, never after a fork.

pub mod agent;
mod agent_job;
mod cgroup;
mod confine;
mod descriptor_passing;
mod durable_files;

mod init;
pub mod job_dir;
mod listener_handover;
mod machine_load;
mod mount_table;
mod remove;
pub mod sandbox;
mod sandbox_process;
mod shim;
pub mod spec;
mod stage_entry;

pub use stage_entry::run_stage_if_requested;
