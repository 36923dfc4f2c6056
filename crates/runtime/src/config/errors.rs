//! Configuration errors.

use std::fmt;
use std::path::PathBuf;

use crate::redact::{REDACTED, is_secret_key};

/// A value that is not allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFault {
    /// With its section, such as `runner.slots`.
    pub key: String,
    pub value: String,
    /// Description of the allowed values, such as `1 to 64`.
    pub allowed: String,
}

impl ConfigFault {
    pub fn new(
        key: impl Into<String>,
        value: impl fmt::Display,
        allowed: impl Into<String>,
    ) -> Self {
        Self { key: key.into(), value: value.to_string(), allowed: allowed.into() }
    }
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = display_value(&self.key, &self.value);
        write!(f, "{} is {value}; allowed is {}", self.key, self.allowed)
    }
}

/// One configuration error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigError {
    /// A value with the wrong type or out of range.
    Value {
        fault: ConfigFault,
        /// Where the value was set; `None` for the default.
        origin: Option<String>,
    },
    UnknownKey {
        /// With its section.
        key: String,
        value: String,
        /// The keys of the section, comma separated.
        known: String,
        origin: String,
    },
    UnknownSection {
        name: String,
        origin: String,
    },
    /// An unusable file.
    File {
        path: PathBuf,
        reason: String,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value { fault, origin: None } => write!(f, "{fault}"),
            Self::Value { fault, origin: Some(origin) } => write!(f, "{fault} (set by {origin})"),
            Self::UnknownKey { key, value, known, origin } => {
                let value = display_value(key, value);
                write!(
                    f,
                    "{key} is not a known key, its value is {value}; known are {known} (set by {origin})"
                )
            }
            Self::UnknownSection { name, origin } => {
                let known = super::SECTIONS.join(", ");
                write!(f, "[{name}] is not a known section; known are {known} (set by {origin})")
            }
            Self::File { path, reason } => write!(f, "config file {}: {reason}", path.display()),
        }
    }
}

/// All configuration errors, displayed one per line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigErrors {
    errors: Vec<ConfigError>,
}

impl ConfigErrors {
    /// The errors, in the order of the sections.
    pub fn errors(&self) -> &[ConfigError] {
        &self.errors
    }

    pub(super) fn push(&mut self, complaint: ConfigError) {
        // Several sections read the same file and would report its error repeatedly.
        if !self.errors.contains(&complaint) {
            self.errors.push(complaint);
        }
    }

    pub(super) fn extend(&mut self, others: impl IntoIterator<Item = ConfigError>) {
        others.into_iter().for_each(|complaint| self.push(complaint));
    }

    /// Returns the value, or collects its errors.
    pub(super) fn keep<T>(&mut self, read: Result<T, Self>) -> Option<T> {
        read.map_err(|faults| self.extend(faults)).ok()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }
}

impl From<ConfigError> for ConfigErrors {
    fn from(complaint: ConfigError) -> Self {
        Self { errors: vec![complaint] }
    }
}

impl IntoIterator for ConfigErrors {
    type Item = ConfigError;
    type IntoIter = std::vec::IntoIter<ConfigError>;

    fn into_iter(self) -> Self::IntoIter {
        self.errors.into_iter()
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, complaint) in self.errors.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{complaint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}

fn display_value<'a>(key: &str, value: &'a str) -> &'a str {
    let name = key.rsplit('.').next().unwrap_or(key);
    if is_secret_key(name) { REDACTED } else { value }
}
