//! The project manager and analyst process: makes decisions for the orchestrator.
//!
//! Start at [`start`]. The decisions are made in [`cynode_agent`]; this crate loads the configuration and the
//! instructions of the role, confines the process and serves handoffs.
//!
//! Invariants: only the orchestrator's requests are accepted; the process has one role for its lifetime; it is
//! confined before its first thread starts, and from then on can start no program and write no file.

mod bundle;
mod cli;
mod confine;
mod listener;
mod once;
mod options;
mod probe;
mod serve;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use cynode_agent::brain::CassetteMode;
use cynode_agent::{HandoffAgent, HandoffAgentOptions};
use cynode_client::Client;
use cynode_runtime::config::{self, ConfigSources};
use cynode_runtime::health::{self, Readiness};
use cynode_runtime::planner::PlannerOptions;
use cynode_runtime::secret_file;
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::tasks::BackgroundTasks;
use cynode_runtime::telemetry::{self, LogOptions};
use cynode_wire::handoff::{AgentRole, Handoff, VerifyHandoff};
use secrecy::SecretString;
use url::{Host, Url};

pub use bundle::{InstructionBundle, InstructionBundleError};
pub use cli::Cli;
pub use options::{HandoffAddress, PmaOptions};

use confine::{ConfinementLevel, ConfinementNeeds};
use listener::HandoffListener;
use serve::{DEFAULT_DEADLINE, HandoffApi};

/// How long open handoffs may take to finish after the stop signal. Longer than the time until `cynode up` stops
/// the orchestrator too, which then releases its handoffs: an answer that is cut off earlier would count as a
/// failure.
const SHUTDOWN_GRACE: Duration = Duration::from_millis(3500);
/// The interval of connection checks to the orchestrator: while it is unreachable, and while it is reachable.
const CHECK_INTERVALS: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(10)];

/// Everything that is loaded and opened before the process is confined.
struct PreparedProcess {
    role: AgentRole,
    options: PmaOptions,
    planner: PlannerOptions,
    log: LogOptions,
    bundle: InstructionBundle,
    orchestrator: Url,
    mode: ProcessMode,
    cassette: CassetteMode,
}

/// The mode of the process.
enum ProcessMode {
    /// Serve handoffs until the stop signal.
    Serve(HandoffListener, SecretString),
    /// Answer one handoff, with its deadline.
    Once(Box<Handoff<VerifyHandoff>>, Duration),
    /// Try what the confinement must deny.
    Probe(PathBuf),
}

/// Runs the process to its end. Must be called before a second thread exists.
pub fn start(cli: Cli) -> anyhow::Result<ExitCode> {
    confine::close_inherited().context("cannot close inherited file descriptors")?;
    let prepared = prepare(cli)?;
    let looks_up_names = needs_name_resolution(&prepared.orchestrator);
    let orchestrator_port = prepared.orchestrator.port_or_known_default().unwrap_or_default();
    let socket_dir = match &prepared.mode {
        ProcessMode::Serve(listener, _) => listener.socket_directory(),
        ProcessMode::Once(..) | ProcessMode::Probe(_) => None,
    };
    let cassette = prepared.cassette.clone();
    let level = confine::confine(&ConfinementNeeds {
        socket_dir,
        orchestrator_port,
        resolves_host_names: looks_up_names,
        cassette,
    })?;
    if prepared.options.require_confinement && !level.is_sufficient() {
        bail!(
            "this kernel cannot confine the process: it lacks {}. Use a newer kernel, or set \
             `require_confinement = false` in [pma]",
            level.missing_features().join(", ")
        );
    }
    if let ProcessMode::Probe(file) = &prepared.mode {
        return probe::run_probe(file).map(|()| ExitCode::SUCCESS);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(Box::pin(run(prepared, level)))?;
    Ok(ExitCode::SUCCESS)
}

/// Whether the orchestrator's host name must be resolved.
fn needs_name_resolution(orchestrator: &Url) -> bool {
    match orchestrator.host() {
        // `localhost` needs no name server.
        Some(Host::Domain(name)) => name != "localhost",
        Some(Host::Ipv4(_) | Host::Ipv6(_)) | None => false,
    }
}

fn prepare(cli: Cli) -> anyhow::Result<PreparedProcess> {
    let sources = ConfigSources::from_process(cli.config.clone(), &cli)?;
    let (options, planner, log): (PmaOptions, PlannerOptions, LogOptions) =
        config::load_all(&sources)?;
    let role = options.role()?;
    let data_dir = config::data_dir(cli.data_dir);
    let bundle = InstructionBundle::load(&options, role, &data_dir)?;
    let orchestrator = Url::parse(&options.orchestrator_url)
        .with_context(|| format!("invalid pma.orchestrator_url {:?}", options.orchestrator_url))?;
    let work = if let Some(file) = cli.probe {
        ProcessMode::Probe(file)
    } else if cli.once {
        let timeout = cli.within_ms.map(|timeout| Duration::from_millis(timeout.into()));
        ProcessMode::Once(Box::new(once::read_handoff(role)?), timeout.unwrap_or(DEFAULT_DEADLINE))
    } else {
        let file = options.secret_file(&data_dir);
        let secret = secret_file::read(&file)
            .with_context(|| format!("cannot read the orchestrator's secret {}", file.display()))?;
        ProcessMode::Serve(
            HandoffListener::open(&options.handoff_address(role, &data_dir)?)?,
            secret,
        )
    };
    let cassette = options.cassette(&data_dir);
    if let CassetteMode::Record(folder) = &cassette {
        std::fs::create_dir_all(folder).with_context(|| {
            format!("cannot create the cassette directory {}", folder.display())
        })?;
    }
    Ok(PreparedProcess { role, options, planner, log, bundle, orchestrator, mode: work, cassette })
}

async fn run(prepared: PreparedProcess, level: ConfinementLevel) -> anyhow::Result<()> {
    let PreparedProcess { role, options, planner, log, bundle, orchestrator, mode: work, cassette } =
        prepared;
    let _telemetry = telemetry::init("cynode-pma", &log)?;
    for warning in planner.warnings() {
        tracing::warn!("{warning}");
    }
    log_startup(role, &bundle, level);
    let agent = HandoffAgent::new(HandoffAgentOptions {
        role,
        instructions: bundle.instructions,
        orchestrator: Client::anonymous(&options.orchestrator_url)?,
        brain: options.brain(&planner, cassette),
    });
    match work {
        ProcessMode::Serve(listener, secret) => {
            let max_open = usize::try_from(options.max_open).unwrap_or(usize::MAX);
            let service = HandoffApi::new(agent, &secret, max_open);
            serve(listener, service, &orchestrator).await
        }
        ProcessMode::Once(handoff, timeout) => once::run_once(agent, *handoff, timeout).await,
        ProcessMode::Probe(_) => Ok(()),
    }
}

fn log_startup(role: AgentRole, bundle: &InstructionBundle, level: ConfinementLevel) {
    let (word, origin) = (role.as_str(), &bundle.origin);
    tracing::info!(
        pma.role = word,
        pma.instructions = origin,
        confined.files = level.files,
        confined.network = level.network,
        confined.syscalls = level.syscalls,
        "agent started"
    );
    for missing in level.missing_features() {
        tracing::warn!(missing, "confinement incomplete");
    }
}

async fn serve(
    listener: HandoffListener,
    service: HandoffApi,
    orchestrator: &Url,
) -> anyhow::Result<()> {
    let shutdown = Shutdown::on_signals(&BackgroundTasks::new())?;
    let address = listener.listen_address();
    tracing::info!(pma.listen = address, "listening for handoffs");
    let readiness = Readiness::new();
    let routes = service.routes().merge(health::routes(readiness.clone(), None));
    let stop = shutdown.clone();
    let served = listener.serve(routes, async move { stop.triggered().await });
    let overdue = async {
        shutdown.triggered().await;
        tokio::time::sleep(SHUTDOWN_GRACE).await;
    };
    tokio::select! {
        served = served => served.context("serving failed"),
        () = overdue => Ok(()),
        () = watch_orchestrator(orchestrator, &readiness) => Ok(()),
    }
}

/// Keeps `readiness` up to date: without the orchestrator there are no tools and no models. Never returns.
async fn watch_orchestrator(orchestrator: &Url, readiness: &Readiness) {
    let port = orchestrator.port_or_known_default().unwrap_or_default();
    let host = orchestrator.host_str().unwrap_or_default().trim_matches(['[', ']']);
    loop {
        let found = tokio::net::TcpStream::connect((host, port)).await;
        match &found {
            Ok(_) => readiness.set_ready(),
            Err(error) => {
                readiness.set_waiting(format!("cannot connect to the orchestrator: {error}"));
            }
        }
        tokio::time::sleep(CHECK_INTERVALS[usize::from(found.is_ok())]).await;
    }
}
