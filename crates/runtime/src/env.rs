//! Environment variables outside of configuration sections.

/// The value of an environment variable; `None` when it is absent or not UTF-8.
#[expect(clippy::disallowed_methods, reason = "the only place that reads the environment")]
pub fn var(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
