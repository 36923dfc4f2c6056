//! The command line, and the dispatch of its commands.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{Parser, Subcommand};

use crate::conformance::{self, ConformanceArgs};
use crate::testing::{self, TestLane};
use crate::{
    bench, ci, fuzz, guardrails, local_model, openapi, prepare, third_party_agents, tidy, tool, vm,
};

/// The programs of `cynode up` as a release has them: with the small program that starts sandboxes.
const WHOLE_SYSTEM: &[&str] = &["cynode", "cynode-stages"];

/// Build, test and guardrail commands of this repository.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
pub struct Cli {
    /// The command to run.
    #[command(subcommand)]
    pub command: XtaskCommand,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum XtaskCommand {
    /// Check the rules that a compiler cannot: layers, file sizes, names, licences, paths of one
    /// machine
    Tidy,
    /// Check that every guardrail and requirement has tests that exist and pass
    Guardrails {
        /// Use the XML report of a test run instead of the list of tests
        #[arg(long, value_name = "PATH", num_args = 0..=1, default_missing_value = guardrails::DEFAULT_JUNIT)]
        junit: Option<PathBuf>,
        /// Switch on the fault that this requirement declares, and show that its tests fail
        #[arg(long, value_name = "ROW", num_args = 0..=1, default_missing_value = "", conflicts_with = "junit")]
        mutate: Option<String>,
        /// With --mutate: every requirement that declares a fault
        #[arg(long, requires = "mutate")]
        all: bool,
    },
    /// Prepare, build and run every test, then check the guardrails against the results
    Test {
        /// Also test a real model on this machine, and agents of other vendors: some ten minutes the first time
        #[arg(long)]
        slow: bool,
    },
    /// Run every check that a change must pass before it is merged
    Ci,
    /// Regenerate docs/reference/openapi.json and tool-schemas.json
    Openapi {
        /// Only check whether the files match the code
        #[arg(long)]
        check: bool,
    },
    /// Run the official MCP conformance suites against the fixture server and the gateway
    Conformance(ConformanceArgs),
    /// Send mutated requests to the gateway for a while
    Fuzz {
        /// Duration, in seconds
        #[arg(long, default_value_t = 60)]
        seconds: u64,
        /// Seed of the sequence of requests; a failure prints it
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Test a real model on this machine, with our own client and through the product
    LocalModel {
        /// Instead, submit N small fixes in words, and print how many became a correct branch
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
        requests: Option<u16>,
    },
    /// Run agents of other vendors through the product, with a scripted model
    Agents,
    /// Run the tests of cgroups in a virtual machine
    Vm,
    /// Build every named binary (dev profile)
    BuildAll,
    /// Run a benchmark
    #[command(subcommand)]
    Bench(BenchSubcommand),
}

/// The benchmarks. `--dist` among the arguments measures the distribution build (`profile.dist`)
/// instead of the release build.
#[derive(Debug, Subcommand)]
pub enum BenchSubcommand {
    /// Measure agents on the same small repairs with the same local model: solved, tokens, minutes
    Agent(bench::agent::AgentBenchArgs),
    /// Count the prompt tokens of each decision
    Prompts,
    /// Measure the audit log: its writer, and queries on a million records
    Audit {
        /// Passed on to the benchmark
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Measure CPU-seconds of a clean release build, by crate
    Build,
    /// Measure chat requests, direct and through the orchestrator; `--peers` for `LiteLLM`'s proxy
    Chat {
        /// Passed on to the benchmark
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Measure tool calls, direct and through the gateway: rate, latency, CPU and memory
    Gateway {
        /// Passed on to the benchmark
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Measure how fast passages are ingested and found, and how that grows with their number
    Knowledge {
        /// Passed on to the benchmark
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Measure submitted work with scripted agents, next to plain tasks
    Pm {
        /// Passed on to the benchmark
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Measure how well questions find their passages, next to plain BM25 and to pgvector, which is installed once
    Retrieval,
    /// Measure sandboxes next to plain processes and `bwrap`, and requests out of them
    Sandbox {
        /// Passed on to the benchmark
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Run work under kills, floods and exhausted quotas for an hour; fail if something is lost or doubled
    Soak {
        /// Passed on to the benchmark
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Measure start-up time, memory and task overhead of `cynode up`
    Up {
        /// Passed on to the benchmark
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Measure durable workflow steps: rate, commits, log bytes, CPU and memory; `--peers` for
    /// other engines
    Workflow {
        /// Passed on to the benchmark
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
}

/// Runs a command; the exit code is zero only if no check failed.
pub fn run(cli: Cli, out: &mut dyn Write) -> Result<ExitCode> {
    let fine = match cli.command {
        XtaskCommand::Tidy => tidy::run(out)?,
        XtaskCommand::Guardrails { junit, mutate: None, .. } => {
            guardrails::run(out, junit.as_deref())?
        }
        XtaskCommand::Guardrails { mutate: Some(row), all, .. } => {
            if all != row.is_empty() {
                bail!("give a requirement, as in --mutate X-03, or --mutate --all");
            }
            guardrails::mutate::run(out, (!all).then_some(&row))?
        }
        XtaskCommand::Test { slow } => {
            testing::run(out, if slow { TestLane::Slow } else { TestLane::Fast })?
        }
        XtaskCommand::Ci => ci::run(out)?,
        XtaskCommand::Openapi { check: true } => {
            tool::build_for_tests()?;
            openapi::check(out)?
        }
        XtaskCommand::Openapi { check: false } => openapi::write(out)?,
        XtaskCommand::Conformance(args) => conformance::run(out, args)?,
        XtaskCommand::Fuzz { seconds, seed } => fuzz::run(seconds, seed)?,
        XtaskCommand::LocalModel { requests: None } => local_model::run(out)?,
        XtaskCommand::LocalModel { requests: Some(count) } => {
            local_model::run_requests(out, count.into())?
        }
        XtaskCommand::Agents => third_party_agents::run(out)?,
        XtaskCommand::Vm => vm::run(out)?,
        XtaskCommand::BuildAll => {
            let mut build = tool::cargo_command(&["build"]);
            tool::run_and_check(build.args(tool::binary_package_args()))?
        }
        XtaskCommand::Bench(BenchSubcommand::Agent(args)) => bench::agent::run(out, &args)?,
        XtaskCommand::Bench(BenchSubcommand::Audit { args }) => {
            tool::run_and_check(&mut bench::program::build_benchmark(&[], "audit", &args)?)?
        }
        XtaskCommand::Bench(BenchSubcommand::Prompts) => {
            tool::run_and_check(&mut bench::program::build_benchmark(&[], "prompts", &[])?)?
        }
        XtaskCommand::Bench(BenchSubcommand::Build) => bench::build::run(out)?,
        XtaskCommand::Bench(BenchSubcommand::Chat { args }) => bench::chat::run(out, &args)?,
        XtaskCommand::Bench(BenchSubcommand::Gateway { args }) => bench::gateway::run(out, &args)?,
        XtaskCommand::Bench(BenchSubcommand::Knowledge { args }) => {
            tool::run_and_check(&mut bench::program::build_benchmark(&[], "knowledge", &args)?)?
        }
        XtaskCommand::Bench(BenchSubcommand::Pm { args }) => {
            tool::run_and_check(&mut bench::program::build_benchmark(WHOLE_SYSTEM, "pm", &args)?)?
        }
        XtaskCommand::Bench(BenchSubcommand::Retrieval) => bench::retrieval::run()?,
        XtaskCommand::Bench(BenchSubcommand::Sandbox { args }) => {
            prepare::ensure_bubblewrap()?;
            let mut bench = bench::program::build_benchmark(WHOLE_SYSTEM, "sandbox", &args)?;
            tool::run_and_check(&mut bench)?
        }
        XtaskCommand::Bench(BenchSubcommand::Soak { args }) => {
            tool::run_and_check(&mut bench::program::build_benchmark(WHOLE_SYSTEM, "soak", &args)?)?
        }
        XtaskCommand::Bench(BenchSubcommand::Up { args }) => {
            // The benchmark starts the real binary, which is not one of its dependencies.
            tool::run_and_check(&mut bench::program::build_benchmark(WHOLE_SYSTEM, "up", &args)?)?
        }
        XtaskCommand::Bench(BenchSubcommand::Workflow { args }) => {
            bench::workflow::run(out, &args)?
        }
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
    fn a_mutation_names_one_row_or_all_of_them() {
        let mutate = |args: &[&str]| {
            let args = [&["xtask", "guardrails", "--mutate"], args].concat();
            run(Cli::parse_from(args), &mut Vec::new()).unwrap_err().to_string()
        };

        assert!(mutate(&[]).contains("--mutate --all"));
        assert!(mutate(&["X-03", "--all"]).contains("--mutate --all"));
        assert!(mutate(&["PMA-99"]).contains("PMA-99 declares no fault"));
    }

    #[test]
    fn the_junit_report_has_a_default_place() {
        let cli = Cli::parse_from(["xtask", "guardrails", "--junit"]);

        let XtaskCommand::Guardrails { junit, .. } = cli.command else {
            panic!("another command was understood");
        };
        assert_eq!(junit, Some(PathBuf::from(guardrails::DEFAULT_JUNIT)));
    }
}
