//! What the project manager decides by rule, from a submitted text to the prompt of an agent.
//!
//! In the order of use: [`intake`] (what a submission is), the project's context, the workflow, the assignment of agents, their
//! prompts, and the review of their results. A model may decide where a rule is not certain; the rule then checks it.
//!
//! Invariant: nothing here performs I/O, reads a clock or is `async`; the same input gives the same answer.

pub mod assignment;
pub mod context;
pub mod estimate;
mod file_guesses;
pub mod intake;
pub mod prompt;
pub mod requirements;
pub mod review;
pub mod structured_context;
pub mod tampering;
pub mod workflow;
