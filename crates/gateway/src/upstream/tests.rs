//! Conversations with servers that behave, and with servers that do not.

mod bridging;
mod discovery;
mod fake;
mod far;
mod http;
mod http_faults;
mod mirrored;
mod processes;
mod standing;
mod world;
