//! The real binary with a scripted model, and with programs of other vendors.

#[cfg(test)]
mod binary;
#[cfg(test)]
mod programs;
