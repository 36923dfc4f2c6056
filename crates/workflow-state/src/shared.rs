//! Large parts of a state that rarely change, compared and copied by pointer.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A part of a state behind an `Arc`. Serialized as the part itself.
#[derive(Debug, Default)]
pub struct SharedPart<T>(Arc<T>);

impl<T> SharedPart<T> {
    /// Pointer equality; equal values may be distinct allocations.
    pub fn is_same_allocation(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<T> From<T> for SharedPart<T> {
    fn from(value: T) -> Self {
        Self(Arc::new(value))
    }
}

impl<T> Clone for SharedPart<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Deref for SharedPart<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for SharedPart<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}

impl<T: PartialEq> PartialEq for SharedPart<T> {
    fn eq(&self, other: &Self) -> bool {
        self.is_same_allocation(other) || *self.0 == *other.0
    }
}

impl<T: Eq> Eq for SharedPart<T> {}

impl<T: Serialize> Serialize for SharedPart<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for SharedPart<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::from)
    }
}

/// How often each step was dispatched. Tracks the entry that changed last, so that entries need not be
/// compared.
#[derive(Debug, Clone, Default)]
pub struct StepAttempts {
    counts: BTreeMap<u32, u32>,
    /// The last recorded step.
    newest: Option<u32>,
    /// Number of records; for [`crate::snapshot`], never serialized.
    pub(super) recorded: u64,
}

impl StepAttempts {
    /// Records that a step was dispatched for the `attempt`-th time.
    pub fn record(&mut self, step: u32, attempt: u32) {
        self.counts.insert(step, attempt);
        self.newest = Some(step);
        self.recorded += 1;
    }

    /// The entry last recorded by this process.
    pub(super) fn newest(&self) -> Option<(u32, u32)> {
        let step = self.newest?;
        Some((step, self.counts.get(&step).copied()?))
    }
}

impl Deref for StepAttempts {
    type Target = BTreeMap<u32, u32>;

    fn deref(&self) -> &Self::Target {
        &self.counts
    }
}

impl PartialEq for StepAttempts {
    fn eq(&self, other: &Self) -> bool {
        self.counts == other.counts
    }
}

impl Eq for StepAttempts {}

impl Serialize for StepAttempts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.counts.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for StepAttempts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let counts = BTreeMap::deserialize(deserializer)?;
        Ok(Self { counts, newest: None, recorded: 0 })
    }
}
