//! Arguments of the built-in MCP tools, shared by the gateway and its callers.
//!
//! A tool's name, fields and limits are stated once, on its type here; the types of the `apmas_*` tools are in
//! [`crate::apmas`] and [`crate::work`]. The gateway derives the published JSON Schema from the type; doc comments
//! are the descriptions that models read. Arguments that are also the body of a REST request flatten that body.
//!
//! Invariant: the schema of a tool rejects unknown members and null, also where the type would accept them.

mod agent_profiles;
mod artifacts;
mod findings;
mod git;
mod handlers;
mod help;
mod jobs;
mod knowledge;
mod memory;
mod messages;
mod nodes;
mod preferences;
mod profiles;
mod project_memory;
mod projects;
mod requests;
mod runs;
mod sandboxes;
mod schedules;
mod schema;
mod settings;
mod skills;
mod tasks;
mod traces;
mod web;
mod work_units;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use agent_profiles::*;
pub use artifacts::*;
pub use findings::*;
pub use git::*;
pub use handlers::*;
pub use help::*;
pub use jobs::*;
pub use knowledge::*;
pub use memory::*;
pub use messages::*;
pub use nodes::*;
pub use preferences::*;
pub use profiles::*;
pub use project_memory::*;
pub use projects::*;
pub use requests::*;
pub use runs::*;
pub use sandboxes::*;
pub use schedules::*;
pub use settings::*;
pub use skills::*;
pub use tasks::*;
pub use traces::*;
pub use web::*;
pub use work_units::*;

/// The arguments of one tool.
pub trait ToolCall: Serialize + DeserializeOwned + JsonSchema {
    /// The tool's canonical name.
    const NAME: &'static str;

    /// The JSON Schema of the arguments, in the form that models read: without references, titles and defaults.
    fn input_schema() -> Value {
        schema::derive_input_schema::<Self>()
    }
}

/// Names the tools of argument types.
macro_rules! tool_calls {
    ($($arguments:ty => $name:literal,)*) => {$(
        impl $crate::tool_calls::ToolCall for $arguments {
            const NAME: &'static str = $name;
        }
    )*};
}
pub(crate) use tool_calls;
