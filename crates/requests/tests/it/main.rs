//! Requests on real databases, with child tasks that end as a test says.
#![expect(clippy::unwrap_used, reason = "helpers are called by tests; a failure is the finding")]

mod budget;
mod claims;
mod control;
mod forges;
mod histories;
mod injections;
mod intake;
mod memory;
mod plans;
mod repository_rules;
mod steps;
mod unit_agents;
mod webhooks;
mod world;
