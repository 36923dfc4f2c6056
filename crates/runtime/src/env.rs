//! The environment of this process, for settings that are no configuration section.

/// The value of an environment variable; `None` when it is absent or not UTF-8.
#[expect(clippy::disallowed_methods, reason = "this is the one place that may")]
pub fn var(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
