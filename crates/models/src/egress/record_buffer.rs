//! Call records that the caller persists together with its own rows.

use std::sync::{Arc, Mutex, PoisonError};

use cynode_store::Entry;

/// Collects rows about model calls for a caller that persists them with its own rows: one commit
/// instead of two. A caller that sets it in an [`super::Inference`] must persist the rows before it
/// returns the answer, whatever the outcome of the call.
#[derive(Debug, Clone, Default)]
pub struct CallRecordBuffer(Arc<Mutex<Vec<Entry>>>);

impl CallRecordBuffer {
    pub(super) fn push(&self, entry: Entry) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
    }

    /// Takes all collected rows.
    pub fn take(&self) -> Vec<Entry> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl PartialEq for CallRecordBuffer {
    /// Compares identity, not content.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
