//! What calls leave to be written by whoever asked, together with rows of their own.

use std::sync::{Arc, Mutex, PoisonError};

use cynode_store::Entry;

/// Rows about calls to models that whoever asked writes when they are done: one commit instead of
/// two. Whoever puts a tab into an [`super::Inference`] must write what is on it before they give the answer
/// out, whatever came of the call.
#[derive(Debug, Clone, Default)]
pub struct Tab(Arc<Mutex<Vec<Entry>>>);

impl Tab {
    pub(super) fn put(&self, entry: Entry) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
    }

    /// What is on it, which it then is no more.
    pub fn take(&self) -> Vec<Entry> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl PartialEq for Tab {
    /// Whether it is the same one.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
