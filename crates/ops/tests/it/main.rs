//! Tests of the operations that the gateway and the API use.
#![expect(clippy::unwrap_used, reason = "helpers are called by tests; a failure is the finding")]

mod agents;
mod analyst_processes;
mod analysts;
mod audit;
mod catalogue;
mod chat;
mod continuing;
mod decisions;
mod driving;
mod egress;
mod groups;
mod handoff;
mod inbox;
mod instructions;
mod job_agents;
mod lists;
mod messages;
mod placement;
mod planning;
mod preferences;
mod profiles;
mod projects;
mod questions;
mod registry;
mod replanning;
mod rules;
mod schedules;
mod server_secrets;
mod skills;
mod starts;
mod step_criteria;
mod team;
mod verdicts;
mod work;
mod work_records;
mod world;

use cynode_testkit::engines;
