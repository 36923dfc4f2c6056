//! Schedules and their due runs.

mod due;
mod handed;
mod manage;
mod world;
