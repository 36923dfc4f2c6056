//! The real binary with a scripted model.

#[cfg(test)]
mod binary;
