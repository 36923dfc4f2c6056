//! The web console at `/console/`: pages that a browser runs against the REST API.
//!
//! Start at [`router`]; the table in `assets` lists the served files, and the pages start in
//! `assets/app.js`. No build step, no framework, nothing from another host.
//!
//! Invariants: the files are static and contain no user data, so they need no authentication; no page
//! runs a script, or parses markup, that is not one of its own files.

mod assets;
mod serve;

pub use serve::router;
