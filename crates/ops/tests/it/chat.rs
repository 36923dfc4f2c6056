//! Chat turns with a scripted model and project manager.

mod chains;
mod faults;
mod order;
mod repeats;
mod stopping;
mod threads;
mod world;
