//! The gateway over HTTP, with a scripted control plane and scripted servers.

#![expect(clippy::unwrap_used, reason = "a helper that cannot go on fails its test")]

mod apmas;
mod backend;
mod boundaries;
mod edge;
mod enforcement;
mod harness;
mod oracle;
mod payloads;
mod profiles;
mod relayed;
mod sdk;
mod sessions;
mod stateless;
mod upstream;
mod web;
