//! Help.

pub(super) mod get;
