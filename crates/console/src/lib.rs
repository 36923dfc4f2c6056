//! The web console at `/console/`: pages that a browser runs against the REST API.
//!
//! Start at [`router`]; what is served is the table in `assets`, and the pages begin in
//! `assets/app.js`. They are written by hand and served as they are: no build step, no framework,
//! nothing from another host.
//!
//! Invariants: the console knows nothing that the API would not tell the same user, so it asks
//! nobody who they are; no page runs a script, or parses markup, that is not one of its own files.

mod assets;
mod serve;

pub use serve::router;
