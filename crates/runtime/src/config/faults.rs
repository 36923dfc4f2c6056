//! What is wrong with a configuration, all of it at once.

use std::fmt;
use std::path::PathBuf;

use crate::redact::{REDACTED, is_secret_key};

/// A value outside what is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The key with its section, such as `runner.slots`.
    pub key: String,
    /// The value that was given.
    pub value: String,
    /// What would be allowed, in words, such as `1 to 64`.
    pub allowed: String,
}

impl Fault {
    /// A value outside what is allowed.
    pub fn new(
        key: impl Into<String>,
        value: impl fmt::Display,
        allowed: impl Into<String>,
    ) -> Self {
        Self { key: key.into(), value: value.to_string(), allowed: allowed.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = shown(&self.key, &self.value);
        write!(f, "{} is {value}; allowed is {}", self.key, self.allowed)
    }
}

/// One complaint about a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Complaint {
    /// A value that has the wrong type or is out of range.
    Value {
        /// The key, the value and what is allowed.
        fault: Fault,
        /// Where the value was set; absent when it is the default.
        origin: Option<String>,
    },
    /// A key that its section does not have.
    UnknownKey {
        /// The key with its section.
        key: String,
        /// The value that was given.
        value: String,
        /// The keys the section has, in words.
        known: String,
        /// Where it was set.
        origin: String,
    },
    /// A section that no process has.
    UnknownSection {
        /// The name.
        name: String,
        /// Where it was set.
        origin: String,
    },
    /// A file that cannot be used at all.
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value { fault, origin: None } => write!(f, "{fault}"),
            Self::Value { fault, origin: Some(origin) } => write!(f, "{fault} (set by {origin})"),
            Self::UnknownKey { key, value, known, origin } => {
                let value = shown(key, value);
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

/// Everything that is wrong with a configuration, one complaint a line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faults {
    complaints: Vec<Complaint>,
}

impl Faults {
    /// Every complaint, in the order of the sections.
    pub fn complaints(&self) -> &[Complaint] {
        &self.complaints
    }

    pub(super) fn push(&mut self, complaint: Complaint) {
        // Several sections look at the same file, and would complain of it together.
        if !self.complaints.contains(&complaint) {
            self.complaints.push(complaint);
        }
    }

    pub(super) fn extend(&mut self, others: impl IntoIterator<Item = Complaint>) {
        others.into_iter().for_each(|complaint| self.push(complaint));
    }

    /// The value, or nothing and its faults kept here.
    pub(super) fn keep<T>(&mut self, read: Result<T, Self>) -> Option<T> {
        read.map_err(|faults| self.extend(faults)).ok()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.complaints.is_empty()
    }
}

impl From<Complaint> for Faults {
    fn from(complaint: Complaint) -> Self {
        Self { complaints: vec![complaint] }
    }
}

impl IntoIterator for Faults {
    type Item = Complaint;
    type IntoIter = std::vec::IntoIter<Complaint>;

    fn into_iter(self) -> Self::IntoIter {
        self.complaints.into_iter()
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, complaint) in self.complaints.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{complaint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}

fn shown<'a>(key: &str, value: &'a str) -> &'a str {
    let name = key.rsplit('.').next().unwrap_or(key);
    if is_secret_key(name) { REDACTED } else { value }
}
