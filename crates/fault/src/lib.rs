//! Deliberate faults: each removes the behaviour of one requirement, so that its tests must fail (ADR 56).
//!
//! `fault!("X-03")` stands at the decision that requirement X-03 is about. In every ordinary build it is
//! the literal `false`: no call, no string, nothing to switch on. Only with the feature `injection`, which
//! `cargo xtask guardrails --mutate` enables and no manifest may, does it compare the id with the
//! environment variable `CYNODE_FAULT`.

/// Whether the fault of this requirement is switched on: never, in a build without the feature `injection`.
#[cfg(not(feature = "injection"))]
#[macro_export]
macro_rules! fault {
    ($requirement:literal) => {
        false
    };
}

/// Whether the fault of this requirement is switched on.
#[cfg(feature = "injection")]
#[macro_export]
macro_rules! fault {
    ($requirement:literal) => {
        $crate::is_active($requirement)
    };
}

/// Whether the process was started with the fault of `requirement`.
#[cfg(feature = "injection")]
pub fn is_active(requirement: &str) -> bool {
    static ACTIVE: std::sync::OnceLock<Option<std::ffi::OsString>> = std::sync::OnceLock::new();
    let active = ACTIVE.get_or_init(|| std::env::var_os("CYNODE_FAULT"));
    active.as_deref().is_some_and(|active| active == requirement)
}
