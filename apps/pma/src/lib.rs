//! The project manager and analyst process: thinks and decides for the orchestrator.
//!
//! Start at [`start`]. What it thinks with is [`cynode_agent`]; this crate reads the configuration and
//! the instructions of its role, confines the process and serves handoffs.
//!
//! Invariants: only the orchestrator is heard; the process has one role for its life; it is confined
//! before its first thread starts, and from then on can start no program and write no file.

mod bundle;
mod cli;
mod confine;
mod door;
mod once;
mod options;
mod probe;
mod serve;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use cynode_agent::brain::CassetteMode;
use cynode_agent::{Agent, AgentOptions};
use cynode_client::Client;
use cynode_runtime::config::{self, Sources};
use cynode_runtime::health::{self, Readiness};
use cynode_runtime::planner::PlannerOptions;
use cynode_runtime::secret_file;
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::tasks::Tasks;
use cynode_runtime::telemetry::{self, LogOptions};
use cynode_wire::handoff::{AgentRole, Handoff, VerifyHandoff};
use secrecy::SecretString;
use url::{Host, Url};

pub use bundle::{Bundle, BundleError};
pub use cli::Cli;
pub use options::{Address, PmaOptions};

use confine::{Level, Needs};
use door::Door;
use serve::{DEFAULT_DEADLINE, Service};

/// How long open handoffs may take to end once the process is asked to stop. Longer than it takes until
/// `cynode up` asks the orchestrator to stop as well, which then gives back what it had handed over: an
/// answer that breaks off before would count as a failure.
const GRACE: Duration = Duration::from_millis(3500);
/// How often the orchestrator is looked for, before and after it was found.
const LOOK: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(10)];

/// Everything that is read and opened before the process is confined.
struct Prepared {
    role: AgentRole,
    options: PmaOptions,
    planner: PlannerOptions,
    log: LogOptions,
    bundle: Bundle,
    orchestrator: Url,
    work: Work,
    cassette: CassetteMode,
}

/// What the process is there for.
enum Work {
    /// Handoffs, until it is asked to stop.
    Serve(Door, SecretString),
    /// One handoff.
    Once(Box<Handoff<VerifyHandoff>>, Duration),
    /// Showing what it cannot do.
    Probe(PathBuf),
}

/// Runs to the end. Must be called before the process has a second thread.
pub fn start(cli: Cli) -> anyhow::Result<ExitCode> {
    confine::close_inherited().context("inherited files cannot be closed")?;
    let prepared = prepare(cli)?;
    let looks_up_names = must_look_up(&prepared.orchestrator);
    let orchestrator_port = prepared.orchestrator.port_or_known_default().unwrap_or_default();
    let socket_dir = match &prepared.work {
        Work::Serve(door, _) => door.directory(),
        Work::Once(..) | Work::Probe(_) => None,
    };
    let cassette = prepared.cassette.clone();
    let level =
        confine::confine(&Needs { socket_dir, orchestrator_port, looks_up_names, cassette })?;
    if prepared.options.require_confinement && !level.is_enough() {
        bail!("this kernel cannot confine the process; it lacks {}", level.missing().join(", "));
    }
    if let Work::Probe(file) = &prepared.work {
        return probe::run(file).map(|()| ExitCode::SUCCESS);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(Box::pin(run(prepared, level)))?;
    Ok(ExitCode::SUCCESS)
}

/// Whether others must be asked where the orchestrator is.
fn must_look_up(orchestrator: &Url) -> bool {
    match orchestrator.host() {
        // Every machine knows itself without asking.
        Some(Host::Domain(name)) => name != "localhost",
        Some(Host::Ipv4(_) | Host::Ipv6(_)) | None => false,
    }
}

fn prepare(cli: Cli) -> anyhow::Result<Prepared> {
    let sources = Sources::of_process(cli.config.clone(), &cli)?;
    let (options, planner, log): (PmaOptions, PlannerOptions, LogOptions) =
        config::load_all(&sources)?;
    let role = options.role()?;
    let data_dir = config::data_dir(cli.data_dir);
    let bundle = Bundle::load(&options, role, &data_dir)?;
    let orchestrator = Url::parse(&options.orchestrator_url)
        .with_context(|| format!("pma.orchestrator_url is {:?}", options.orchestrator_url))?;
    let work = if let Some(file) = cli.probe {
        Work::Probe(file)
    } else if cli.once {
        let within = cli.within_ms.map(|within| Duration::from_millis(within.into()));
        Work::Once(Box::new(once::read(role)?), within.unwrap_or(DEFAULT_DEADLINE))
    } else {
        let file = options.secret_file(&data_dir);
        let secret = secret_file::read(&file)
            .with_context(|| format!("the secret of the orchestrator in {}", file.display()))?;
        Work::Serve(Door::open(&options.address(role, &data_dir)?)?, secret)
    };
    let cassette = options.cassette(&data_dir);
    if let CassetteMode::Record(folder) = &cassette {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("records cannot be kept in {}", folder.display()))?;
    }
    Ok(Prepared { role, options, planner, log, bundle, orchestrator, work, cassette })
}

async fn run(prepared: Prepared, level: Level) -> anyhow::Result<()> {
    let Prepared { role, options, planner, log, bundle, orchestrator, work, cassette } = prepared;
    let _telemetry = telemetry::init("cynode-pma", &log)?;
    for warning in planner.warnings() {
        tracing::warn!("{warning}");
    }
    announce(role, &bundle, level);
    let agent = Agent::new(AgentOptions {
        role,
        instructions: bundle.instructions,
        orchestrator: Client::anonymous(&options.orchestrator_url)?,
        brain: options.brain(&planner, cassette),
    });
    match work {
        Work::Serve(door, secret) => {
            let max_open = usize::try_from(options.max_open).unwrap_or(usize::MAX);
            let service = Service::new(agent, &secret, max_open);
            serve(door, service, &orchestrator).await
        }
        Work::Once(handoff, within) => once::answer(agent, *handoff, within).await,
        Work::Probe(_) => Ok(()),
    }
}

fn announce(role: AgentRole, bundle: &Bundle, level: Level) {
    let (word, origin) = (role.as_str(), &bundle.origin);
    tracing::info!(
        pma.role = word,
        pma.instructions = origin,
        confined.files = level.files,
        confined.network = level.network,
        confined.syscalls = level.syscalls,
        "the {word} works by {origin}"
    );
    for missing in level.missing() {
        tracing::warn!("this kernel lacks {missing}");
    }
}

async fn serve(door: Door, service: Service, orchestrator: &Url) -> anyhow::Result<()> {
    let shutdown = Shutdown::on_signals(&Tasks::new())?;
    let address = door.address();
    tracing::info!(pma.listen = address, "handoffs on {address}");
    let readiness = Readiness::new();
    let routes = service.routes().merge(health::routes(readiness.clone(), None));
    let stop = shutdown.clone();
    let served = door.serve(routes, async move { stop.triggered().await });
    let overdue = async {
        shutdown.triggered().await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        served = served => served.context("serving failed"),
        () = overdue => Ok(()),
        () = look_for(orchestrator, &readiness) => Ok(()),
    }
}

/// Keeps `readiness` true: without the orchestrator there are neither tools nor models. Never returns.
async fn look_for(orchestrator: &Url, readiness: &Readiness) {
    let port = orchestrator.port_or_known_default().unwrap_or_default();
    let host = orchestrator.host_str().unwrap_or_default().trim_matches(['[', ']']);
    loop {
        let found = tokio::net::TcpStream::connect((host, port)).await;
        match &found {
            Ok(_) => readiness.set_ready(),
            Err(error) => readiness.set_waiting(format!("the orchestrator is away: {error}")),
        }
        tokio::time::sleep(LOOK[usize::from(found.is_ok())]).await;
    }
}
