//! Process infrastructure: configuration, logs, metrics, background tasks, shutdown, health, and the
//! system call filter.
//!
//! A process loads its sections with [`config::load_all`], initialises logging with
//! [`telemetry::init`], handles signals with [`shutdown::Shutdown`], runs its components on
//! [`tasks::BackgroundTasks`] and serves its health with [`health::serve`].
//!
//! Invariant: only this crate reads the environment, the system clock and signals. It does not know
//! the product's tasks, runs or jobs.

pub mod bounded_lines;
pub mod child_env;
pub mod clock;
pub mod config;
pub mod descriptors;
pub mod durable_file;
pub mod env;
pub mod failpoint;
pub mod guarded_body;
pub mod health;
pub mod metrics;
pub mod planner;
pub mod problem;
pub mod redact;
pub mod secret_file;
pub mod shutdown;
#[cfg(target_os = "linux")]
pub mod syscalls;
pub mod tasks;
pub mod telemetry;
pub mod terminal_text;
pub mod trace_recorder;
