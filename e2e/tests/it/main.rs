//! The whole system as real processes: its behaviour for users, and its recovery from crashes.
//! Start at [`system::System`], a `cynode up` in its own directory.

#[cfg(test)]
mod agent_kills;
#[cfg(test)]
mod agent_reports;
#[cfg(test)]
mod agent_tools;
#[cfg(test)]
mod agents;
#[cfg(test)]
mod bad_scripts;
#[cfg(test)]
mod browser;
#[cfg(test)]
mod builds_on;
#[cfg(test)]
mod callers;
#[cfg(test)]
mod chaos;
#[cfg(test)]
mod chat;
#[cfg(test)]
mod checks;
#[cfg(test)]
mod console;
#[cfg(test)]
mod console_admin;
#[cfg(test)]
mod console_knowledge;
#[cfg(test)]
mod console_projects;
#[cfg(test)]
mod console_requests;
#[cfg(test)]
mod console_tasks;
#[cfg(test)]
mod continuing;
#[cfg(test)]
mod conversation;
#[cfg(test)]
mod counting;
#[cfg(test)]
mod crashes;
#[cfg(test)]
mod credentials;
#[cfg(test)]
mod damage;
#[cfg(test)]
mod deliberate_faults;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod edge;
#[cfg(test)]
mod ends;
#[cfg(test)]
mod files;
#[cfg(test)]
mod fleet;
#[cfg(test)]
mod gateway_kills;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod handover;
#[cfg(test)]
mod history;
#[cfg(test)]
mod kills;
#[cfg(test)]
mod knowledge;
#[cfg(test)]
mod logs;
#[cfg(test)]
mod matrix;
#[cfg(test)]
mod offline;
#[cfg(test)]
mod placement;
#[cfg(test)]
mod processes;
#[cfg(test)]
mod programs;
#[cfg(test)]
mod project_contexts;
#[cfg(test)]
mod project_manager;
#[cfg(test)]
mod pull_requests;
#[cfg(test)]
mod repositories;
#[cfg(test)]
mod request_control;
#[cfg(test)]
mod request_scenarios;
#[cfg(test)]
mod requests;
#[cfg(test)]
mod schedules;
mod secrets;
#[cfg(test)]
mod seed;
#[cfg(test)]
mod server_tools;
#[cfg(test)]
mod standalone;
#[cfg(test)]
mod steering;
#[cfg(test)]
mod stopping;
#[cfg(test)]
mod storage;
#[cfg(test)]
mod system;
#[cfg(test)]
mod terminal;
#[cfg(test)]
mod third_party_agents;
#[cfg(test)]
mod traces;
#[cfg(test)]
mod up;
#[cfg(test)]
mod work;
#[cfg(test)]
mod zombies;
