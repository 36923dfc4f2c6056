//! How many tasks are driven at once, and when the next may be asked for.
//!
//! A run whose last transition is on its way needs its slot no more: the next task is claimed
//! meanwhile, and not one round trip later. As many runs as there are slots may end like this at once; a
//! further one keeps its slot until it has ended.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The slots of a runner.
#[derive(Debug, Clone)]
pub(super) struct Slots {
    driving: Arc<Semaphore>,
    ending: Arc<Semaphore>,
}

impl Slots {
    /// That many.
    pub(super) fn new(slots: usize) -> Self {
        Self { driving: Arc::new(Semaphore::new(slots)), ending: Arc::new(Semaphore::new(slots)) }
    }

    /// Waits for a free one, and takes those that are free beside it, `max` in all; nothing if there
    /// never will be one.
    pub(super) async fn take(&self, max: usize) -> Option<Vec<Slot>> {
        let mut taken = vec![self.slot(Arc::clone(&self.driving).acquire_owned().await.ok()?)];
        while taken.len() < max
            && let Ok(permit) = Arc::clone(&self.driving).try_acquire_owned()
        {
            taken.push(self.slot(permit));
        }
        Some(taken)
    }

    fn slot(&self, permit: OwnedSemaphorePermit) -> Slot {
        Slot { permit: Mutex::new(permit), ending: Arc::clone(&self.ending) }
    }
}

/// A slot, free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    permit: Mutex<OwnedSemaphorePermit>,
    ending: Arc<Semaphore>,
}

impl Slot {
    /// The run's last transition is on its way.
    pub(crate) fn is_ending(&self) {
        if let Ok(permit) = Arc::clone(&self.ending).try_acquire_owned() {
            *self.permit.lock().unwrap_or_else(PoisonError::into_inner) = permit;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_run_that_ends_gives_its_slot_to_the_next_and_no_more_than_one() {
        let slots = Slots::new(1);
        let first = slots.take(8).await.unwrap();
        assert_eq!(first.len(), 1);

        first[0].is_ending();
        let second = slots.take(8).await.unwrap();
        second[0].is_ending();

        assert_eq!(slots.driving.available_permits(), 0, "the first has not ended yet");
        drop(first);
        assert_eq!(slots.driving.available_permits(), 0, "the second kept the slot");
        drop(second);
        assert_eq!((slots.driving.available_permits(), slots.ending.available_permits()), (1, 1));
    }
}
