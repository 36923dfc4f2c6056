//! The worker node process: joins an orchestrator and runs its jobs in sandboxes.
//!
//! Start at [`run`]. The node itself is [`cynode_worker::agent::Agent`]; this crate reads the
//! configuration and serves health. A `main` that calls [`run`] must first offer its arguments to
//! [`cynode_worker::enter_if_asked`], because sandboxes are made of the same program.

mod cli;
mod options;

use std::process::ExitCode;

use cynode_runtime::config::{self, Sources};
use cynode_runtime::health::{self, Listener, Readiness};
use cynode_runtime::metrics;
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::telemetry::{self, LogOptions};
use cynode_worker::agent::Agent;

pub use cli::Cli;
pub use options::NodeOptions;

/// Takes jobs until `shutdown`, then ends those still running and delivers what it can.
pub async fn run(cli: Cli, shutdown: Shutdown) -> anyhow::Result<ExitCode> {
    let sources = Sources::of_process(cli.config.clone(), &cli)?;
    let (options, log): (NodeOptions, LogOptions) = config::load_all(&sources)?;
    let _telemetry = telemetry::init("cynode-node", &log)?;

    let readiness = Readiness::new();
    readiness.set_waiting("the orchestrator has not answered yet");
    let agent_options = options.agent(&config::data_dir(cli.data_dir));
    let agent = Agent::prepare(agent_options, readiness.clone()).await?;
    let Some(listen) = &options.health_listen else {
        agent.run(shutdown).await?;
        return Ok(ExitCode::SUCCESS);
    };
    let listener = Listener::bind(listen).await?;
    let routes = health::routes(readiness, Some(metrics::install()?));
    let work = async {
        let ended = agent.run(shutdown.clone()).await;
        // A node that is refused ends, and its health with it.
        shutdown.trigger();
        ended
    };
    let (served, ended) = tokio::join!(health::serve_on(listener, routes, shutdown.clone()), work);
    ended?;
    served?;
    Ok(ExitCode::SUCCESS)
}
