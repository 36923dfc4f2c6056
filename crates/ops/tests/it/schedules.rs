//! Schedules, and what is done when they come due.

mod due;
mod manage;
mod world;
