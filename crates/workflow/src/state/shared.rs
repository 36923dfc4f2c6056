//! Parts of a state that are big, seldom change, and must be compared and copied at no cost.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A part of a state behind a pointer. Stored, it is the part itself.
#[derive(Debug, Default)]
pub struct Shared<T>(Arc<T>);

impl<T> Shared<T> {
    /// Whether both are the same value in memory; two equal values may still be two.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<T> From<T> for Shared<T> {
    fn from(value: T) -> Self {
        Self(Arc::new(value))
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}

impl<T: PartialEq> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other) || *self.0 == *other.0
    }
}

impl<T: Eq> Eq for Shared<T> {}

impl<T: Serialize> Serialize for Shared<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Shared<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::from)
    }
}

/// How often each step was dispatched. It knows which entry changed last, so that nobody has to
/// compare all of them.
#[derive(Debug, Clone, Default)]
pub struct Attempts {
    counts: BTreeMap<u32, u32>,
    /// The step that was recorded last.
    newest: Option<u32>,
    /// How often something was recorded; for [`super::changes`], never stored.
    pub(super) recorded: u64,
}

impl Attempts {
    /// Notes that a step was dispatched for the `attempt`-th time.
    pub fn record(&mut self, step: u32, attempt: u32) {
        self.counts.insert(step, attempt);
        self.newest = Some(step);
        self.recorded += 1;
    }

    /// The entry that was recorded last by this process.
    pub(super) fn newest(&self) -> Option<(u32, u32)> {
        let step = self.newest?;
        Some((step, self.counts.get(&step).copied()?))
    }
}

impl Deref for Attempts {
    type Target = BTreeMap<u32, u32>;

    fn deref(&self) -> &Self::Target {
        &self.counts
    }
}

impl PartialEq for Attempts {
    fn eq(&self, other: &Self) -> bool {
        self.counts == other.counts
    }
}

impl Eq for Attempts {}

impl Serialize for Attempts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.counts.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Attempts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let counts = BTreeMap::deserialize(deserializer)?;
        Ok(Self { counts, newest: None, recorded: 0 })
    }
}
