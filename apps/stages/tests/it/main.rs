//! The small program of the stages: when a node uses it.

#[cfg(test)]
mod choice;
