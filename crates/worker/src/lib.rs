//! The worker node: accepts jobs, runs each in a sandbox and delivers its result.
//!
//! Start reading at [`agent`], the loop that polls the orchestrator; the crate `cynode-sandbox` starts a job and reports its end.
//!
//! Invariant: a job whose directory exists is never started again, so a job runs at most once, even across crashes.

pub mod agent;
mod machine_load;
