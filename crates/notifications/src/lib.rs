//! Notifications of people: what waits for them, and what has ended.
//!
//! [`Notifications`] manages the channels of users, the mail server and dead deliveries. [`Notifier`] does the rest: it turns
//! events of the outbox into deliveries (`fan_out`), claims channels with due deliveries, and sends (`send`).
//!
//! Invariants: an event becomes one delivery for each channel, in the transaction that advances the cursor, so that none is
//! lost and none is doubled. A delivery keeps its id over all attempts; it is sent at least once. A channel that fails or is slow
//! delays no other. Texts of others are cleaned by `text`.

mod channels;
mod content;
mod deliveries;
mod error;
mod fan_out;
mod mail_server;
mod notifier;
mod send;
mod target;
mod text;

use std::sync::Arc;

use cynode_resources::Signals;
use cynode_resources::servers::SecretSealer;
use cynode_runtime::clock::SharedClock;
use cynode_store::Store;
use tokio::sync::Notify;

pub use error::NotificationError;
pub use notifier::{Notifier, NotifierOptions};
pub use send::webhook::{ID_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER, sign};

/// Channels, deliveries and the mail server. Cheap to clone.
#[derive(Clone)]
pub struct Notifications {
    store: Store,
    clock: SharedClock,
    signals: Signals,
    sealer: Arc<dyn SecretSealer>,
    /// Wakes the notifier of this process.
    wake: Arc<Notify>,
}

impl Notifications {
    /// Creates the service; `sealer` encrypts addresses and secrets.
    pub fn new(
        store: Store,
        clock: SharedClock,
        signals: Signals,
        sealer: Arc<dyn SecretSealer>,
    ) -> Self {
        Self { store, clock, signals, sealer, wake: Arc::default() }
    }
}
