//! Turns of chat, with a model and a project manager that say what the test wants.

mod chains;
mod faults;
mod order;
mod repeats;
mod stopping;
mod threads;
mod world;
