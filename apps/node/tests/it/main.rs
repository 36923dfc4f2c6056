//! The worker node with real sandboxes: isolation, limits and durability.

#[cfg(test)]
mod agent_answers;
#[cfg(test)]
mod agent_hosts;
#[cfg(test)]
mod agent_programs;
#[cfg(test)]
mod agent_traces;
#[cfg(test)]
mod builds_on;
#[cfg(test)]
mod caches;
#[cfg(test)]
mod canary;
#[cfg(test)]
mod durability;
#[cfg(test)]
mod egress;
#[cfg(test)]
mod fake_agent_api;
#[cfg(test)]
mod fake_orchestrator;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod hostile_connections;
#[cfg(test)]
mod hostile_repositories;
#[cfg(test)]
mod image_layout;
#[cfg(test)]
mod images;
#[cfg(test)]
mod incarnations;
#[cfg(test)]
mod interactive;
#[cfg(test)]
mod isolation;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod node;
#[cfg(test)]
mod phases;
#[cfg(test)]
mod pushes;
#[cfg(test)]
mod reload;
#[cfg(test)]
mod repositories;
#[cfg(test)]
mod supervisor;
#[cfg(test)]
mod testbed;
#[cfg(test)]
mod workbench;
