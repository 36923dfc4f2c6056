//! Sandboxes: runs the command of a job with the files, the network and the limits that it was given, and nothing else.
//!
//! Start reading at [`sandbox::Sandbox`], which accepts and starts jobs. The job's logic writes down what the sandbox must provide
//! as a [`request::SandboxRequest`]; a `backend::SandboxBackend` provides it. There is one, `namespaces`, whose
//! sandbox involves three kinds of process:
//!
//! ```text
//! node ── sandbox-shim ── sandbox-init (PID 1) ── sandbox-exec → the command
//!         one per job,    builds the private      limits itself,
//!         outlives node   filesystem, reaps       then becomes it
//! ```
//!
//! The shim belongs to the job's logic: time, output, disk and stop requests are the same for every backend.
//!
//! Invariant: a job directory is created before any process starts, and a job whose directory exists
//! is never started again, so a job runs at most once, even across crashes. Nothing here is `unsafe`:
//! privileges are dropped by the process that is about to exec the command, never after a fork.

mod agent_job;
mod backend;
pub mod cache;
mod cgroup;
mod confine;
mod descriptor_passing;
pub mod durable_files;
mod init;
pub mod job_dir;
mod job_request;
pub mod listener_handover;
mod mount_table;
mod namespaces;
pub mod remove;
pub mod request;
pub mod sandbox;
mod sandbox_process;
mod shim;
pub mod spec;
mod stage_entry;

pub use stage_entry::run_stage_if_requested;
