//! Notifications against real receivers, on both engines.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "behaviours are called by tests; a failure is the finding"
)]

mod channels;
mod deliveries;
mod isolation;
mod mail;
mod receiver;
mod restarts;
mod smtp_server;
mod world;

use cynode_testkit::engines;
