//! Limits how many runs are driven concurrently, and when the next may be claimed.
//!
//! A run frees its slot when its last transition is sent, so the next run is claimed one round trip
//! earlier. At most as many runs as there are slots may end like this at once; a further one keeps its
//! slot until it has ended.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The slots of a runner.
#[derive(Debug, Clone)]
pub(super) struct RunnerSlots {
    driving: Arc<Semaphore>,
    ending: Arc<Semaphore>,
}

impl RunnerSlots {
    pub(super) fn new(slots: usize) -> Self {
        Self { driving: Arc::new(Semaphore::new(slots)), ending: Arc::new(Semaphore::new(slots)) }
    }

    /// Waits for a free slot and takes up to `max` free slots; `None` if the semaphore is closed.
    pub(super) async fn acquire(&self, max: usize) -> Option<Vec<RunnerSlot>> {
        let mut taken =
            vec![self.wrap_permit(Arc::clone(&self.driving).acquire_owned().await.ok()?)];
        while taken.len() < max
            && let Ok(permit) = Arc::clone(&self.driving).try_acquire_owned()
        {
            taken.push(self.wrap_permit(permit));
        }
        Some(taken)
    }

    fn wrap_permit(&self, permit: OwnedSemaphorePermit) -> RunnerSlot {
        RunnerSlot { permit: Mutex::new(permit), ending: Arc::clone(&self.ending) }
    }
}

/// A slot, freed on drop.
#[derive(Debug)]
pub(crate) struct RunnerSlot {
    permit: Mutex<OwnedSemaphorePermit>,
    ending: Arc<Semaphore>,
}

impl RunnerSlot {
    /// Frees the slot early, because the run's last transition was sent.
    pub(crate) fn free_early(&self) {
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
        let slots = RunnerSlots::new(1);
        let first = slots.acquire(8).await.unwrap();
        assert_eq!(first.len(), 1);

        first[0].free_early();
        let second = slots.acquire(8).await.unwrap();
        second[0].free_early();

        assert_eq!(slots.driving.available_permits(), 0, "the first has not ended yet");
        drop(first);
        assert_eq!(slots.driving.available_permits(), 0, "the second kept the slot");
        drop(second);
        assert_eq!((slots.driving.available_permits(), slots.ending.available_permits()), (1, 1));
    }
}
