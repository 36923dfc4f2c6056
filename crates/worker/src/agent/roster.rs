//! Which jobs the node has, and what is to become of them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cynode_domain::ids::{JobId, TaskId};
use tokio::sync::Notify;

use crate::job_dir::{JobDir, StopRequest};

/// Delivered jobs that are remembered, in case an old answer assigns one of them again.
const REMEMBERED: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct Roster {
    jobs: Mutex<Jobs>,
    /// Rings when the answer to the next poll could differ.
    changed: Notify,
}

#[derive(Debug, Default)]
struct Jobs {
    held: BTreeMap<JobId, Entry>,
    delivered: VecDeque<JobId>,
}

#[derive(Debug)]
struct Entry {
    task: Option<TaskId>,
    /// Present once the job is accepted on disk.
    dir: Option<JobDir>,
    stop: Option<StopRequest>,
    is_running: bool,
    is_forgotten: bool,
}

impl Roster {
    fn jobs(&self) -> MutexGuard<'_, Jobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a job in, unless the node has it or had it.
    pub(super) fn admit(&self, job: JobId, task: Option<TaskId>) -> bool {
        let mut jobs = self.jobs();
        if jobs.held.contains_key(&job) || jobs.delivered.contains(&job) {
            return false;
        }
        let entry = Entry { task, dir: None, stop: None, is_running: true, is_forgotten: false };
        jobs.held.insert(job, entry);
        true
    }

    /// The job is on disk. A request to stop that came earlier is passed on.
    pub(super) fn accepted(&self, job: JobId, task: Option<TaskId>, dir: &JobDir) {
        if let Some(entry) = self.jobs().held.get_mut(&job) {
            entry.dir = Some(dir.clone());
            entry.task = entry.task.or(task);
            if let Some(request) = entry.stop {
                pass_on(job, dir, request);
            }
        }
    }

    /// The job runs no more; its slot is free though its result is not delivered.
    pub(super) fn ended(&self, job: JobId) {
        if let Some(entry) = self.jobs().held.get_mut(&job) {
            entry.is_running = false;
        }
        self.changed.notify_one();
    }

    /// The node is done with the job.
    pub(super) fn remove(&self, job: JobId) {
        let mut jobs = self.jobs();
        jobs.held.remove(&job);
        jobs.delivered.push_back(job);
        if jobs.delivered.len() > REMEMBERED {
            jobs.delivered.pop_front();
        }
        drop(jobs);
        self.changed.notify_one();
    }

    /// Asks for a job to end. False if that was asked before, or the job is unknown or over.
    pub(super) fn stop(&self, job: JobId, request: StopRequest) -> bool {
        let mut jobs = self.jobs();
        let Some(entry) = jobs.held.get_mut(&job).filter(|entry| entry.is_running) else {
            return false;
        };
        if entry.stop.is_some() {
            return false;
        }
        entry.stop = Some(request);
        if let Some(dir) = &entry.dir {
            pass_on(job, dir, request);
        }
        true
    }

    pub(super) fn stop_all(&self, request: StopRequest) {
        for job in self.holding() {
            self.stop(job, request);
        }
    }

    /// Nobody waits for the job any more. False if that was known, or the job is unknown.
    pub(super) fn forget(&self, job: JobId) -> bool {
        let mut jobs = self.jobs();
        let Some(entry) = jobs.held.get_mut(&job) else { return false };
        let is_news = !entry.is_forgotten;
        entry.is_forgotten = true;
        drop(jobs);
        self.stop(job, StopRequest::Cancel);
        is_news
    }

    pub(super) fn is_forgotten(&self, job: JobId) -> bool {
        self.jobs().held.get(&job).is_none_or(|entry| entry.is_forgotten)
    }

    pub(super) fn holding(&self) -> Vec<JobId> {
        self.jobs().held.keys().copied().collect()
    }

    pub(super) fn running(&self) -> u32 {
        let count = self.jobs().held.values().filter(|entry| entry.is_running).count();
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    pub(super) fn uses(&self, task: TaskId) -> bool {
        self.jobs().held.values().any(|entry| entry.task == Some(task))
    }

    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }
}

fn pass_on(job: JobId, dir: &JobDir, request: StopRequest) {
    if let Err(error) = dir.request_stop(request) {
        tracing::error!(
            job.id = %job, error = &error as &dyn std::error::Error,
            "job {job} cannot be asked to stop"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_admitted_once_even_after_its_delivery() {
        let (roster, job) = (Roster::default(), JobId::generate());

        assert!(roster.admit(job, None));
        assert!(!roster.admit(job, None));
        roster.remove(job);
        assert!(!roster.admit(job, None));
        assert_eq!(roster.holding(), []);
    }

    #[test]
    fn an_ended_job_is_held_without_taking_a_slot() {
        let (roster, job) = (Roster::default(), JobId::generate());
        roster.admit(job, None);

        roster.ended(job);

        assert_eq!((roster.running(), roster.holding()), (0, vec![job]));
    }

    #[test]
    fn a_request_to_stop_that_comes_before_the_job_is_on_disk_is_kept() {
        let (roster, job) = (Roster::default(), JobId::generate());
        let place = tempfile::tempdir().unwrap();
        let dir = JobDir::at(place.path());
        roster.admit(job, None);

        assert!(roster.stop(job, StopRequest::Cancel));
        assert!(!roster.stop(job, StopRequest::Cancel));
        roster.accepted(job, None, &dir);

        assert_eq!(dir.stop_request(), Some(StopRequest::Cancel));
    }
}
