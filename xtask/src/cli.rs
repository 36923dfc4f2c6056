//! The command line, and which module answers each command.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::conformance::{self, ConformanceArgs};
use crate::testing::{self, Lane};
use crate::{bench, ci, fuzz, guardrails, local_model, openapi, tidy, tool};

/// Build, test and guardrail commands of this repository.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Check the rules a compiler cannot: layers, file sizes, names, licences, words
    Tidy,
    /// Check that every guardrail and requirement is tied to tests that exist and pass
    Guardrails {
        /// Judge by the XML report of a test run instead of the list of tests
        #[arg(long, value_name = "PATH", num_args = 0..=1, default_missing_value = guardrails::DEFAULT_JUNIT)]
        junit: Option<PathBuf>,
    },
    /// Prepare, build and run every test, then check the guardrails against the results
    Test {
        /// Ask a real model on this machine too: some ten minutes the first time
        #[arg(long)]
        slow: bool,
    },
    /// Everything that must hold before a change lands
    Ci,
    /// Write docs/reference/openapi.json and tool-schemas.json anew
    Openapi {
        /// Only say whether the file differs from what the code would write
        #[arg(long)]
        check: bool,
    },
    /// Let the official MCP conformance suites judge the fixture server and the gateway
    Conformance(ConformanceArgs),
    /// Try mutated requests on the gateway's edge for a while
    Fuzz {
        /// For how long
        #[arg(long, default_value_t = 60)]
        seconds: u64,
        /// Where the sequence of requests begins; a failure names it
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Ask a real model on this machine, by our own client and through the product
    LocalModel,
    /// Build every named binary (dev profile)
    BuildAll,
    /// Measure
    #[command(subcommand)]
    Bench(Bench),
}

/// What to measure. `--dist` among the arguments measures what a distributor ships (`profile.dist`)
/// instead of what a newcomer builds.
#[derive(Debug, Subcommand)]
pub enum Bench {
    /// The tokens that a model reads for each decision
    Prompts,
    /// The audit log alone: its writer, and questions to a million records
    Audit {
        /// Passed on to the benchmark
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// CPU-seconds of a clean release build, by crate
    Build,
    /// Questions to a model, direct and through the orchestrator; `--peers` for `LiteLLM`'s proxy
    Chat {
        /// Passed on to the benchmark
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Tool calls, direct and through the gateway: rate, latency, CPU and memory
    Gateway {
        /// Passed on to the benchmark
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Start-up time, memory and task overhead of `cynode up`
    Up {
        /// Passed on to the benchmark
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Durable steps of workflows: rate, commits, log bytes, CPU and memory; `--peers` for other engines
    Workflow {
        /// Passed on to the benchmark
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
}

/// Does what was asked; the exit code is zero only if nothing was found wrong.
pub fn run(cli: Cli, out: &mut dyn Write) -> Result<ExitCode> {
    let fine = match cli.command {
        Command::Tidy => tidy::run(out)?,
        Command::Guardrails { junit } => guardrails::run(out, junit.as_deref())?,
        Command::Test { slow } => testing::run(out, if slow { Lane::Slow } else { Lane::Fast })?,
        Command::Ci => ci::run(out)?,
        Command::Openapi { check: true } => openapi::check(out)?,
        Command::Openapi { check: false } => openapi::write(out)?,
        Command::Conformance(args) => conformance::run(out, args)?,
        Command::Fuzz { seconds, seed } => fuzz::run(seconds, seed)?,
        Command::LocalModel => local_model::run(out)?,
        Command::BuildAll => {
            let mut build = tool::cargo(&["build"]);
            tool::succeeds(build.args(tool::binary_package_args()))?
        }
        Command::Bench(Bench::Audit { args }) => {
            tool::succeeds(&mut bench::program::build(&[], "audit", &args)?)?
        }
        Command::Bench(Bench::Prompts) => {
            tool::succeeds(&mut bench::program::build(&[], "prompts", &[])?)?
        }
        Command::Bench(Bench::Build) => bench::build::run(out)?,
        Command::Bench(Bench::Chat { args }) => bench::chat::run(out, &args)?,
        Command::Bench(Bench::Gateway { args }) => bench::gateway::run(out, &args)?,
        Command::Bench(Bench::Up { args }) => {
            // The benchmark starts the real binary, which it does not depend on as a crate.
            tool::succeeds(&mut bench::program::build(&["cynode"], "up", &args)?)?
        }
        Command::Bench(Bench::Workflow { args }) => bench::workflow::run(out, &args)?,
    };
    Ok(if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_junit_report_has_a_default_place() {
        let cli = Cli::parse_from(["xtask", "guardrails", "--junit"]);

        let Command::Guardrails { junit } = cli.command else {
            panic!("another command was understood");
        };
        assert_eq!(junit, Some(PathBuf::from(guardrails::DEFAULT_JUNIT)));
    }
}
