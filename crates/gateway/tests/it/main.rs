//! The gateway over HTTP, over a scripted control plane and scripted servers.

mod backend;
mod edge;
mod enforcement;
mod harness;
mod oracle;
mod orchestrator;
mod sdk;
mod sessions;
mod stateless;
mod upstream;
