//! What a worker node does: take jobs, run each in a sandbox, deliver what came of them.
//!
//! Start reading at [`agent`], the loop that talks to the orchestrator; [`sandbox`] is how it starts
//! a job and learns of its end. Behind that are four kinds of process, each this same executable:
//!
//! ```text
//! node ── sandbox-shim ── sandbox-init (PID 1) ── sandbox-exec → the command
//!         one per job,    builds the private      limits itself,
//!         outlives node   filesystem, reaps       then becomes it
//! ```
//!
//! Invariant: a job directory is made before anything starts and a job whose directory exists is
//! never started again, so a job runs at most once whatever dies. Nothing here is `unsafe`:
//! privileges are dropped by the process that is about to become the command, never after a fork.

pub mod agent;
mod confine;
mod entry;
mod files;
mod init;
pub mod job_dir;
mod remove;
pub mod sandbox;
mod sandbox_process;
mod shim;
pub mod spec;

pub use entry::enter_if_asked;
