//! The agent that works inside a sandbox.
//!
//! Start at [`run`]. The work is done in [`cynode_sandbox_agent`], or by a program that [`cynode_acp_client`] drives;
//! this crate reads the specification and the environment, and writes the result.
//!
//! Invariant: the result is written whatever happens to the job, also after SIGTERM.

mod cli;

use std::fs::File;
use std::io::{self, Read as _, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use cynode_acp_client::mcp_bridge::{open_standard_input, run_bridge};
use cynode_acp_client::{McpBridgeCommand, ProgramOptions, run_canary, run_program};
use cynode_agent_job::OpenJob;
use cynode_agent_job::instruction_feed::POLL_INTERVAL;
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::telemetry::{self, LogOptions};
use cynode_runtime::{durable_file, env};
use cynode_sandbox_agent::{AgentOptions, RetryPolicy, run_open_job};
use cynode_wire::agent_jobs::{ActionFormat, AgentJobResult, AgentJobStatus};
use serde::Deserialize as _;
use serde::de::value::{Error as ValueError, StrDeserializer};

pub use cli::{Cli, SbaCommand};

/// The address of the model.
const MODEL_URL_VAR: &str = "OPENAI_BASE_URL";
/// The address of the MCP server.
const MCP_URL_VAR: &str = "CYNODE_MCP_URL";
/// The form of actions.
const ACTION_FORMAT_VAR: &str = "CYNODE_ACTION_FORMAT";
/// The most bytes of a specification.
const MAX_SPEC_BYTES: u64 = 8 << 20;

/// Executes the job and writes its result; the exit code is 0 if the job succeeded.
pub async fn run(cli: Cli, shutdown: Shutdown) -> anyhow::Result<ExitCode> {
    let log = LogOptions { level: "warn".to_owned(), ..LogOptions::default() };
    let _telemetry = telemetry::init("cynode-sba", &log)?;
    if let Some(SbaCommand::McpBridge) = cli.command {
        return serve_bridge(&shutdown).await;
    }
    let document = read_document(&cli.job).unwrap_or_else(|error| {
        // A job without a specification has a result too.
        let _ = writeln!(io::stderr(), "cannot read {}: {error}", cli.job.display());
        Vec::new()
    });
    let progress: Box<dyn Write + Send> =
        if is_standard(&cli.result) { Box::new(io::stderr()) } else { Box::new(io::stdout()) };
    let result = match OpenJob::open(&document, &cli.workspace, progress).await {
        Ok(job) if job.program().is_some() => {
            let mcp_bridge = find_bridge();
            let mcp_url = env::var(MCP_URL_VAR);
            let options = ProgramOptions { mcp_bridge, mcp_url, ..ProgramOptions::default() };
            if job.is_canary() {
                let model_url = env::var(MODEL_URL_VAR).unwrap_or_default();
                Box::pin(run_canary(job, &options, &model_url, &shutdown)).await
            } else {
                Box::pin(run_program(job, &options, &shutdown)).await
            }
        }
        Ok(job) => {
            let options = AgentOptions {
                workspace: cli.workspace,
                model_url: env::var(MODEL_URL_VAR),
                mcp_url: env::var(MCP_URL_VAR),
                action_format: read_action_format(),
                retry: RetryPolicy::default(),
                instruction_interval: POLL_INTERVAL,
            };
            Box::pin(run_open_job(job, &options, &shutdown)).await
        }
        Err(result) => *result,
    };
    write_result(&cli.result, &result)
        .with_context(|| format!("cannot write the result {}", cli.result.display()))?;
    Ok(if result.status == AgentJobStatus::Success { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Serves MCP on standard input and output until the input ends.
async fn serve_bridge(shutdown: &Shutdown) -> anyhow::Result<ExitCode> {
    let url = env::var(MCP_URL_VAR).with_context(|| format!("{MCP_URL_VAR} is not set"))?;
    let input = open_standard_input().context("standard input cannot be read")?;
    tokio::select! {
        () = shutdown.triggered() => {}
        ended = Box::pin(run_bridge(&url, input, tokio::io::stdout())) => ended?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The command that starts this program as an MCP server; `None` if the job has no tools.
fn find_bridge() -> Option<McpBridgeCommand> {
    let url = env::var(MCP_URL_VAR)?;
    // The words before the first flag select this component in a program of several.
    let words = std::env::args_os().skip(1).map_while(|word| word.into_string().ok());
    let words = words.take_while(|word| !word.starts_with('-'));
    let args = words.chain(["mcp-bridge".to_owned()]).collect();
    let program = std::env::current_exe().ok()?;
    Some(McpBridgeCommand { program, args, env: vec![(MCP_URL_VAR.to_owned(), url)] })
}

/// Reads the specification. One that is too large is cut off, and then rejected as invalid.
fn read_document(path: &Path) -> io::Result<Vec<u8>> {
    let mut document = Vec::new();
    if is_standard(path) {
        io::stdin().take(MAX_SPEC_BYTES).read_to_end(&mut document)?;
    } else {
        File::open(path)?.take(MAX_SPEC_BYTES).read_to_end(&mut document)?;
    }
    Ok(document)
}

/// Writes the result atomically.
fn write_result(path: &Path, result: &AgentJobResult) -> anyhow::Result<()> {
    let mut document = serde_json::to_vec_pretty(result)?;
    document.push(b'\n');
    if is_standard(path) {
        let mut output = io::stdout();
        output.write_all(&document)?;
        output.flush()?;
    } else {
        durable_file::replace(path, &document)?;
    }
    Ok(())
}

fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

/// An invalid value gives a warning and the default.
fn read_action_format() -> Option<ActionFormat> {
    let value = env::var(ACTION_FORMAT_VAR)?;
    let format = ActionFormat::deserialize(StrDeserializer::<ValueError>::new(&value));
    if format.is_err() {
        let _ = writeln!(
            io::stderr(),
            "{ACTION_FORMAT_VAR} \"{value}\" is ignored: use native_calls, json_schema or fenced_text"
        );
    }
    format.ok()
}
