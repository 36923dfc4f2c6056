//! The worker node with real sandboxes: what jobs can and cannot do, and what survives whom.

mod fake;
mod isolation;
mod limits;
mod node;
mod supervisor;
mod workbench;
