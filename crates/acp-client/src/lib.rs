//! Drives agents of other vendors: a program in the same sandbox carries out the job.
//!
//! Start at [`run_program`]. A program that speaks the Agent Client Protocol is driven by `acp_session` over an
//! `agent_link`; any other program is a `command_program`. [`mcp_bridge`] is the MCP server that such programs start:
//! it forwards their messages to the MCP server of the job. [`run_canary`] tries a program out.
//!
//! The protocol is implemented here, on bounded lines and queues, and not with its SDK: the SDK queues messages
//! without a limit, and enables `preserve_order` of `serde_json` for the whole workspace (ADR 16). Tests validate every
//! message against the published schema.
//!
//! Invariants: a program decides nothing outside of its sandbox; its permission requests are answered by rule and are
//! no boundary; whatever it sends, memory is bounded and the job ends with a result.

mod acp_error;
mod acp_session;
mod agent_link;
mod canary;
mod command_program;
mod diff_text;
mod file_requests;
pub mod mcp_bridge;
mod message;
mod permissions;
mod pipe_io;
mod program;
mod prompt;
mod protocol;
mod update_recorder;

pub use canary::run_canary;
pub use program::{McpBridgeCommand, ProgramOptions, ProgramTimeouts, run_program};
