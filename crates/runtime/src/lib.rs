//! What processes share: configuration, logs, metrics, tasks, shutdown, health, and the filter of
//! system calls for those that confine themselves.
//!
//! A process starts by reading its sections with [`config::load_all`], turns logs on with
//! [`telemetry::init`], waits for signals through [`shutdown::Shutdown`], runs its parts on
//! [`tasks::Tasks`] and shows how it is with [`health::serve`].
//!
//! Invariant: this is the only crate that reads the environment, the system clock and signals.
//! It knows nothing of tasks, runs or jobs of the product.

pub mod child_env;
pub mod clock;
pub mod config;
pub mod durable_file;
pub mod env;
pub mod failpoint;
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
