//! The HTTP edge over `ops`: extract, call one operation, wrap.
//!
//! Start at [`router`]: it merges the routes of every feature and puts the edge (trace ids, limits,
//! problem bodies, metrics) around them. Who is asking is decided by `identity`, once per group of
//! routes; what a refusal looks like by `error`.
//!
//! Invariants: no SQL, no business rule and no status of a refusal in a handler. Every route but
//! health, metrics, sign-in and the API document authenticates.

mod accounts;
mod artifacts;
mod chat;
mod edge;
mod egress;
mod error;
mod events;
mod extract;
mod gateway;
mod groups;
mod identity;
mod inbox;
mod node_api;
mod nodes;
mod openai_error;
mod openapi;
mod preferences;
mod projects;
mod responses;
mod router;
mod runs;
mod schedules;
mod skills;
mod status;
mod tasks;
mod threads;
mod unread;
mod unreadable;
mod workflow;

pub use egress::Models;
pub use gateway::Administration;
pub use identity::ServiceTokens;
pub use openapi::document;
pub use router::{Services, router};
