//! How far a planner may go.
