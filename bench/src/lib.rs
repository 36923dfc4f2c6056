//! Benchmarks of the real processes, each against a baseline of the same run. Start at [`run`];
//! [`up`] measures `cynode up`, [`gateway`] tool calls, [`audit`] the audit log, [`chat`] model
//! requests, [`knowledge`] searches, [`pm`] submitted work, [`prompts`] the size of prompts, [`sandbox`] isolation. Figures are printed with their goals and never affect
//! the exit code: tests assert behaviour, benchmarks show time and memory. [`soak`] is the exception: it
//! fails if work is lost or done twice.

pub mod audit;
pub mod chat;
pub mod gateway;
pub mod knowledge;
mod memory;
pub mod pm;
mod processes;
pub mod prompts;
mod sample;
pub mod sandbox;
pub mod soak;
mod table;
mod tasks;
pub mod up;
pub mod workflow;

use std::io::Write;

use clap::{Parser, Subcommand};

/// Benchmarks of CyNode
#[derive(Debug, Parser)]
#[command(name = "cynode-bench", version)]
pub struct Cli {
    /// The benchmark to run.
    #[command(subcommand)]
    pub command: BenchCommand,
}

/// The benchmarks.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Measure start-up time, memory and task overhead of `cynode up`.
    Up(up::UpBenchArgs),
    /// Measure the audit log: its writer, and queries on a million records.
    Audit(audit::AuditBenchArgs),
    /// Measure requests to a scripted model, direct and through the orchestrator.
    Chat(chat::ChatBenchArgs),
    /// Count the prompt tokens of each decision.
    Prompts,
    /// Measure tool calls, direct and through the gateway.
    Gateway(gateway::GatewayBenchArgs),
    /// Measure how fast passages are ingested and found, and how that grows.
    Knowledge(knowledge::KnowledgeBenchArgs),
    /// Measure submitted work with scripted agents, next to plain tasks.
    Pm(pm::PmBenchArgs),
    /// Measure durable workflow steps, against single-row commits and other engines.
    Workflow(workflow::WorkflowBenchArgs),
    /// Measure sandboxes next to plain processes and `bwrap`, and requests out of them.
    Sandbox(sandbox::SandboxBenchArgs),
    /// Run work under kills, floods and exhausted quotas; fail if something is lost, doubled or left behind.
    Soak(soak::SoakArgs),
}

/// Runs a benchmark and prints a table to `out`.
pub async fn run(cli: Cli, out: &mut (dyn Write + Send)) -> anyhow::Result<()> {
    match cli.command {
        BenchCommand::Up(args) => Box::pin(up::run(&args, out)).await,
        BenchCommand::Audit(args) => Box::pin(audit::run(&args, out)).await,
        BenchCommand::Chat(args) => Box::pin(chat::run(&args, out)).await,
        BenchCommand::Knowledge(args) => Box::pin(knowledge::run(&args, out)).await,
        BenchCommand::Pm(args) => Box::pin(pm::run(&args, out)).await,
        BenchCommand::Prompts => prompts::run(out),
        BenchCommand::Gateway(args) => Box::pin(gateway::run(&args, out)).await,
        BenchCommand::Workflow(args) => Box::pin(workflow::run(&args, out)).await,
        BenchCommand::Sandbox(args) => Box::pin(sandbox::run(&args, out)).await,
        BenchCommand::Soak(args) => Box::pin(soak::run(&args, out)).await,
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
