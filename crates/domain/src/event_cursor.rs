//! Positions in the outbox of events.

use std::fmt;
use std::str::FromStr;

/// A position in commit order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventCursor {
    pub transaction: i64,
    pub sequence: i64,
}

impl fmt::Display for EventCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.transaction, self.sequence)
    }
}

/// The text is not a valid event id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not an event id")]
pub struct InvalidEventCursor(String);

impl FromStr for EventCursor {
    type Err = InvalidEventCursor;

    /// Parses the output of [`fmt::Display`]; `0` is the start.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "0" {
            return Ok(Self::default());
        }
        let parts = text.split_once('-').and_then(|(transaction, sequence)| {
            Some((transaction.parse().ok()?, sequence.parse().ok()?))
        });
        match parts {
            Some((transaction, sequence)) => Ok(Self { transaction, sequence }),
            None => Err(InvalidEventCursor(text.to_owned())),
        }
    }
}
