//! The client against scripted and hostile agents, and the bridge against a real MCP server.

#[cfg(test)]
mod bridge;
#[cfg(test)]
mod commands;
#[cfg(test)]
mod contract;
#[cfg(test)]
mod files;
#[cfg(test)]
mod harness;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod instructions;
#[cfg(test)]
mod interruptions;
#[cfg(test)]
mod turns;
