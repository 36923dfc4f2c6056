//! Conversations with servers that behave, and with servers that do not.

mod bridging;
mod discovery;
mod fake;
mod http;
mod http_faults;
mod processes;
mod world;
