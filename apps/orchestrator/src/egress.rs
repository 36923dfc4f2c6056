//! The way out to models as a part of this process.

use std::path::Path;

use cynode_api::Models;
use cynode_ops::credentials::Credentials;
use cynode_ops::decisions::Decisions;
use cynode_ops::egress::Egress;
use cynode_ops::{Signals, Store};
use cynode_runtime::clock::SharedClock;
use cynode_runtime::tasks::Tasks;

/// The key that credentials are sealed with: in the data directory, never in the database.
const KEY_FILE: &str = "credentials.key";

/// Puts the way out together; what must be written after a caller went away is left to `background`.
pub(crate) fn models(
    (store, clock, signals): (&Store, &SharedClock, &Signals),
    data_dir: &Path,
    background: Tasks,
) -> Models {
    let (store, clock, signals) = (store.clone(), clock.clone(), signals.clone());
    let key_file = data_dir.join(KEY_FILE);
    let credentials = Credentials::new(store.clone(), clock.clone(), signals.clone(), key_file);
    let decisions = Decisions::new(store.clone());
    let egress = Egress::new(store, clock, signals, credentials.clone(), background);
    Models { egress, credentials, decisions }
}
