//! The bodies of every API: what crosses a process boundary, and nothing else.
//!
//! Requests refuse unknown fields; answers may grow. Request types are verbs (`CreateTask`),
//! answers end in `View`, stream items in `Event`.
//!
//! Invariant: no type here has behaviour beyond reading and writing itself.

pub mod agents;
pub mod apmas;
pub mod artifacts;
pub mod audit;
pub mod auth;
pub mod changes;
pub mod checks;
pub mod continuing;
pub mod credentials;
pub mod decisions;
pub mod events;
pub mod findings;
pub mod groups;
pub mod handoff;
pub mod health;
pub mod inbox;
pub mod inferences;
pub mod jobs;
pub mod memory;
pub mod nodes;
pub mod openai;
pub mod page;
pub mod planning;
pub mod preferences;
pub mod problem;
pub mod projects;
pub mod providers;
pub mod replanning;
pub mod rules;
pub mod runs;
pub mod schedules;
pub mod servers;
pub mod settings;
pub mod skills;
pub mod sse;
pub mod steering;
pub mod tasks;
pub mod threads;
pub mod tools;
pub mod work;
pub mod workflow;
