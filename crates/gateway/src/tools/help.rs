//! `help.*`

pub(super) mod get;
