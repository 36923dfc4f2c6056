//! The job of an agent inside a sandbox: what the agent's own loop and the client of other agents share.
//!
//! Start at [`OpenJob`]: it validates the document of a job, opens the workspace, and turns the end of the job into a
//! result. [`journal`] writes the transcript; [`workspace`] and [`text_file`] access files; [`process_group`] ends children.
//!
//! Invariants: no path leaves the workspace; every text that is recorded is bounded.

pub mod bounded_text;
pub mod context_sections;
pub mod instruction_feed;
mod job;
pub mod journal;
pub mod process_group;
pub mod program;
pub mod snapshot;
pub mod spec;
pub mod stop;
pub mod text_file;
pub mod workspace;

pub use job::OpenJob;
