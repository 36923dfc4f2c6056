//! The workflow runner process: claims runs from an orchestrator and drives them.
//!
//! Start at [`run`]. The service itself is [`cynode_workflow::runner::WorkflowRunner`]; this crate loads the configuration
//! and serves health.
//!
//! Invariant: the runner holds no state. Everything a run needs is in the orchestrator, so any runner can resume
//! the runs of a killed one.

mod cli;
mod options;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use cynode_client::Client;
use cynode_runtime::config::{self, ConfigSources};
use cynode_runtime::health::{self, HealthListener, Readiness};
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::telemetry::{self, LogOptions};
use cynode_runtime::{metrics, secret_file};
use cynode_workflow::runner::WorkflowRunner;

pub use cli::Cli;
pub use options::RunnerOptions;

/// Drives runs until `shutdown`, then releases their leases.
pub async fn run(cli: Cli, shutdown: Shutdown) -> anyhow::Result<ExitCode> {
    let sources = ConfigSources::from_process(cli.config.clone(), &cli)?;
    let (options, log): (RunnerOptions, LogOptions) = config::load_all(&sources)?;
    let _telemetry = telemetry::init("cynode-runner", &log)?;

    let token_file = options.token_path(&config::data_dir(cli.data_dir));
    let token = secret_file::read(&token_file)
        .with_context(|| format!("the runner's token in {}", token_file.display()))?;
    let client = Client::new(&options.orchestrator_url, token)?;

    let refused = || {
        let (url, file) = (&options.orchestrator_url, token_file.display());
        format!("the orchestrator at {url} rejected this runner; check its token in {file}")
    };
    let readiness = Readiness::new();
    readiness.set_waiting("the orchestrator has not responded yet");
    let runner =
        WorkflowRunner::new(Arc::new(client), options.service_options(), readiness.clone());
    let Some(listen) = &options.health_listen else {
        runner.run(shutdown).await.with_context(refused)?;
        return Ok(ExitCode::SUCCESS);
    };
    let listener = HealthListener::bind(listen).await?;
    let routes = health::routes(readiness, Some(metrics::install()?));
    let drive = async {
        let ended = runner.run(shutdown.clone()).await.with_context(refused);
        // A rejected runner exits, and so does its health endpoint.
        shutdown.trigger();
        ended
    };
    let (served, ended) = tokio::join!(health::serve_on(listener, routes, shutdown.clone()), drive);
    ended?;
    served?;
    Ok(ExitCode::SUCCESS)
}
