//! The project manager and its analysts, as a part of this process.

use std::path::Path;
use std::sync::Arc;

use cynode_ops::analysts::Analysts;
use cynode_ops::handoff::Handoffs;
use cynode_ops::{Signals, Store};
use cynode_runtime::clock::SharedClock;
use cynode_runtime::tasks::Tasks as Background;

use crate::OrchestratorOptions;
use crate::analysts::Processes;
use crate::instances::{Address, Instances};
use crate::secrets::handoff_secret;

/// How work reaches the project manager and its analysts.
pub(crate) struct Agents {
    pub(crate) handoffs: Handoffs,
    pub(crate) analysts: Analysts,
    /// Has to know where this process listens.
    pub(crate) launcher: Arc<Processes>,
}

/// Puts them together; what they do beside requests ends with `background`. The secret is made here, so that processes that start later find it.
pub(crate) fn agents(
    (store, clock, signals): (&Store, &SharedClock, &Signals),
    options: &OrchestratorOptions,
    data_dir: &Path,
    background: &Background,
) -> anyhow::Result<Agents> {
    let addresses = options.pma_addresses.iter().filter_map(|text| Address::parse(text));
    let secret = handoff_secret(options, data_dir)?;
    let manager = Arc::new(Instances::new(addresses.collect(), secret));
    let handoffs =
        Handoffs::new((store.clone(), clock.clone(), signals.clone()), manager, options.handoffs())
            .in_background(background.clone());
    let (command, config) = (&options.pma_analyst_command, options.config_file.clone());
    let launcher = Arc::new(Processes::new(command, data_dir, config));
    let analysts = Analysts::new(
        (store.clone(), signals.clone()),
        handoffs.clone(),
        launcher.clone(),
        options.analysts(),
    );
    Ok(Agents { handoffs, analysts, launcher })
}
