//! Schedules, and what is done when they come due.

mod due;
mod handed;
mod manage;
mod world;
