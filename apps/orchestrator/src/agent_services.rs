//! Assembles the access to the project manager and its analysts.

use std::path::Path;
use std::sync::Arc;

use cynode_analysts::AnalystService;
use cynode_execution::ArtifactService;
use cynode_execution::handoff::HandoffService;
use cynode_resources::project_excerpts::ExcerptFinder;
use cynode_resources::{Signals, Store};
use cynode_runtime::clock::SharedClock;
use cynode_runtime::tasks::BackgroundTasks;

use crate::OrchestratorOptions;
use crate::analyst_launcher::AnalystProcessLauncher;
use crate::pma_instances::{PmaAddress, PmaInstances};
use crate::server::{blob_store, build_knowledge};
use crate::service_secrets::load_handoff_secret;

/// Access to the project manager and its analysts.
pub(crate) struct AgentServices {
    pub(crate) handoffs: HandoffService,
    pub(crate) analysts: AnalystService,
    /// Finds the excerpts of projects that prompts quote.
    pub(crate) excerpts: ExcerptFinder,
    /// Needs the address of this process.
    pub(crate) launcher: Arc<AnalystProcessLauncher>,
}

/// Builds the access; background work ends with `background`. Creates the secret, so that processes that start
/// later find it.
pub(crate) fn build_agent_services(
    store: &Store,
    clock: &SharedClock,
    signals: &Signals,
    options: &OrchestratorOptions,
    data_dir: &Path,
    background: &BackgroundTasks,
) -> anyhow::Result<AgentServices> {
    let addresses = options.pma_addresses.iter().filter_map(|text| PmaAddress::parse(text));
    let secret = load_handoff_secret(options, data_dir)?;
    let manager = Arc::new(PmaInstances::new(addresses.collect(), secret));
    let knowledge = Arc::new(build_knowledge(store, clock));
    let excerpts = ExcerptFinder::new(store.clone()).with_passages(knowledge);
    let handoffs = HandoffService::new(
        store.clone(),
        clock.clone(),
        signals.clone(),
        manager,
        options.handoff_options(),
    )
    .with_excerpts(excerpts.clone())
    .with_background(background.clone());
    let (command, config) = (&options.pma_analyst_command, options.config_file.clone());
    let launcher = Arc::new(AnalystProcessLauncher::new(command, data_dir, config));
    let analysts = AnalystService::new(
        store.clone(),
        signals.clone(),
        handoffs.clone(),
        launcher.clone(),
        options.analyst_options(),
    )
    .with_artifacts(ArtifactService::new(store.clone(), clock.clone(), blob_store(data_dir)));
    Ok(AgentServices { handoffs, analysts, excerpts, launcher })
}
