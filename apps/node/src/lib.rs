//! The worker node process: joins an orchestrator and runs its jobs in sandboxes.
//!
//! Start at [`run`]. The node itself is [`cynode_worker::agent::NodeDaemon`]; this crate loads the configuration and
//! serves health. A `main` that calls [`run`] must first pass its arguments to [`cynode_sandbox::run_stage_if_requested`],
//! because sandbox stages run the same executable.

mod cli;
mod options;

use std::process::ExitCode;

use cynode_runtime::config::{self, ConfigSources};
use cynode_runtime::health::{self, HealthListener, Readiness};
use cynode_runtime::metrics;
use cynode_runtime::shutdown::{Hangups, Shutdown};
use cynode_runtime::telemetry::{self, LogOptions};
use cynode_worker::agent::{NodeDaemon, NodeReloader};

pub use cli::Cli;
pub use options::NodeOptions;

/// Runs jobs until `shutdown`, then stops running jobs and delivers their results.
pub async fn run(cli: Cli, shutdown: Shutdown) -> anyhow::Result<ExitCode> {
    let sources = ConfigSources::from_process(cli.config.clone(), &cli)?;
    let (options, log): (NodeOptions, LogOptions) = config::load_all(&sources)?;
    let _telemetry = telemetry::init("cynode-node", &log)?;

    let readiness = Readiness::new();
    readiness.set_waiting("the orchestrator has not responded yet");
    let agent_options = options.daemon_options(&config::data_dir(cli.data_dir.clone()));
    let agent = NodeDaemon::prepare(agent_options, readiness.clone()).await?;
    let reloading = reload_on_hangup(cli, agent.reloader(), Hangups::listen()?);
    let running = async {
        tokio::select! {
            ended = agent.run(shutdown.clone()) => ended,
            () = reloading => Ok(()),
        }
    };
    let Some(listen) = &options.health_listen else {
        running.await?;
        return Ok(ExitCode::SUCCESS);
    };
    let listener = HealthListener::bind(listen).await?;
    let routes = health::routes(readiness, Some(metrics::install()?));
    let work = async {
        let ended = running.await;
        // A rejected node exits, and so does its health endpoint.
        shutdown.trigger();
        ended
    };
    let (served, ended) = tokio::join!(health::serve_on(listener, routes, shutdown.clone()), work);
    ended?;
    served?;
    Ok(ExitCode::SUCCESS)
}

/// Reloads labels, the number of concurrent jobs and the access to repositories at every SIGHUP. An invalid configuration
/// changes nothing.
async fn reload_on_hangup(cli: Cli, node: NodeReloader, mut hangups: Hangups) {
    loop {
        hangups.next().await;
        match load_options(&cli) {
            Ok(options) => node.apply(options.live_options()),
            Err(error) => {
                let reason = format!("{error:#}");
                tracing::error!(reason, "configuration not reloaded: the old one stays in force");
            }
        }
    }
}

fn load_options(cli: &Cli) -> anyhow::Result<NodeOptions> {
    let sources = ConfigSources::from_process(cli.config.clone(), cli)?;
    let (options, _): (NodeOptions, LogOptions) = config::load_all(&sources)?;
    Ok(options)
}
