//! The HTTP API: each handler extracts the request, calls one operation and wraps the result.
//!
//! Start at [`router`]: it merges the routes of every feature and adds the middleware (trace ids, limits,
//! problem bodies, metrics). `identity` authenticates, once per group of routes; `error` maps errors to
//! responses.
//!
//! Invariants: handlers contain no SQL, no business rules and no error status codes. Every route except
//! health, metrics, sign-in and the API document requires authentication.

mod accounts;
mod admission;
mod agent_profiles;
mod anthropic_error;
mod artifacts;
mod chat;
mod decisions;
mod edge;
mod egress;
mod error;
mod events;
mod extract;
mod forges;
mod gateway;
mod groups;
mod identity;
mod inbox;
mod json_body;
mod knowledge;
mod middleware;
mod node_api;
mod nodes;
mod notifications;
mod openai_error;
mod openapi;
mod preferences;
mod profiles;
mod project_memory;
mod projects;
mod pushes;
mod requests;
mod responses;
mod router;
mod runs;
mod schedules;
mod skills;
mod state;
mod status;
mod tasks;
mod threads;
mod unread_body;
mod workflow;

pub use egress::ModelServices;
pub use gateway::GatewayAdministration;
pub use identity::ServiceTokens;
pub use openapi::document;
pub use router::{ApiServices, router};
