//! Measurements of the real processes, each against a baseline of the same run.
//!
//! Start at [`run`]; [`up`] measures `cynode up`, [`gateway`] tool calls, [`audit`] their record,
//! [`chat`] questions to models, [`prompts`] how long the questions are.
//! Figures are printed with their goals and never judged by the exit code: tests assert behaviour,
//! this shows time and memory.

pub mod audit;
pub mod chat;
pub mod gateway;
mod memory;
mod processes;
pub mod prompts;
mod sample;
mod table;
mod tasks;
pub mod up;
pub mod workflow;

use std::io::Write;

use clap::{Parser, Subcommand};

/// Measures what people wait for, and what it costs them.
#[derive(Debug, Parser)]
#[command(name = "cynode-bench", version)]
pub struct Cli {
    /// What to measure.
    #[command(subcommand)]
    pub command: Command,
}

/// What to measure.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start-up time, memory and task overhead of `cynode up`.
    Up(up::UpArgs),
    /// The audit log alone: its writer, and questions to a million records.
    Audit(audit::AuditArgs),
    /// Questions to a scripted model, direct and through the orchestrator.
    Chat(chat::ChatArgs),
    /// The tokens that a model reads for each decision.
    Prompts,
    /// Tool calls, direct and through the gateway.
    Gateway(gateway::GatewayArgs),
    /// Durable steps of workflows, against single-row commits and other engines.
    Workflow(workflow::WorkflowArgs),
}

/// Measures, and prints a table to `out`.
pub async fn run(cli: Cli, out: &mut (dyn Write + Send)) -> anyhow::Result<()> {
    match cli.command {
        Command::Up(args) => Box::pin(up::run(&args, out)).await,
        Command::Audit(args) => Box::pin(audit::run(&args, out)).await,
        Command::Chat(args) => Box::pin(chat::run(&args, out)).await,
        Command::Prompts => prompts::run(out),
        Command::Gateway(args) => Box::pin(gateway::run(&args, out)).await,
        Command::Workflow(args) => Box::pin(workflow::run(&args, out)).await,
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_definition_of_the_bench_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_plan_of_one_sentence_is_asked_for_in_few_tokens() {
        let mut out = Vec::new();

        prompts::run(&mut out).unwrap();

        let table = String::from_utf8(out).unwrap();
        let plan = table.lines().find(|line| line.starts_with("plan: all")).unwrap();
        assert!(plan.contains("met"), "{table}");
    }
}
