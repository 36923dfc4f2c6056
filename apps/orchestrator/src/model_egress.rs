//! Assembles the model egress in this process.

use std::path::Path;

use cynode_api::ModelServices;
use cynode_models::credentials::CredentialManager;
use cynode_models::decisions::DecisionRecords;
use cynode_models::egress::Egress;
use cynode_resources::{Signals, Store};
use cynode_runtime::clock::SharedClock;
use cynode_runtime::tasks::BackgroundTasks;

/// The key that encrypts credentials: in the data directory, never in the database.
const KEY_FILE: &str = "credentials.key";

/// Builds the egress; writes after a caller has disconnected run in `background`.
pub(crate) fn build_models(
    store: &Store,
    clock: &SharedClock,
    signals: &Signals,
    data_dir: &Path,
    background: BackgroundTasks,
) -> ModelServices {
    let (store, clock, signals) = (store.clone(), clock.clone(), signals.clone());
    let key_file = data_dir.join(KEY_FILE);
    let credentials =
        CredentialManager::new(store.clone(), clock.clone(), signals.clone(), key_file);
    let decisions = DecisionRecords::new(store.clone());
    let egress = Egress::new(store, clock, signals, credentials.clone(), background);
    ModelServices { egress, credentials, decisions }
}
