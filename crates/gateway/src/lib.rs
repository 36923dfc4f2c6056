//! The MCP edge over `ops`: who may call which tool, and a record of every call.
//!
//! Start at [`pipeline`]: the decision, stage by stage, pure. `invoke` carries a call out around it:
//! decide, record, act, record, answer. [`snapshot`] is what decisions are made by; `edge` is the
//! HTTP endpoint for every revision of the protocol; [`tools`] are the built-in tools, one file each;
//! [`seams`] is where installed servers are attached.
//!
//! Invariants: silence is a refusal; no call is made and no answer given that is not on record;
//! arguments and results are in no record, and in no log but the one for debugging, without secrets.

mod backend;
mod catalogue;
mod directory;
mod edge;
mod explain;
mod gateway;
mod identity;
mod invoke;
mod limits;
mod mirror;
mod options;
mod outbound;
pub mod pipeline;
mod protocol;
mod recorded;
mod rejections;
mod relay;
mod rpc;
pub mod seams;
mod sessions;
pub mod snapshot;
pub mod tools;
pub mod upstream;

pub use backend::{Backend, BackendError, OpenCall, Operations};
pub use directory::RegistryDirectory;
pub use edge::router;
pub use gateway::{Gateway, Parts};
pub use identity::Identity;
pub use options::GatewayOptions;
