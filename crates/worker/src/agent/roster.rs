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
    /// Wakes tasks that wait for a job to end or to be stopped.
    moved: Notify,
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
        self.moved.notify_waiters();
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
        self.moved.notify_waiters();
    }

    /// Asks for a job to end. False if that was asked before, or the job is unknown. One that has ended
    /// can still be canceled, which ends the upload of its files.
    pub(super) fn stop(&self, job: JobId, request: StopRequest) -> bool {
        let mut jobs = self.jobs();
        let Some(entry) = jobs.held.get_mut(&job) else { return false };
        if entry.stop.is_some() || !(entry.is_running || request == StopRequest::Cancel) {
            return false;
        }
        entry.stop = Some(request);
        if let Some(dir) = entry.dir.as_ref().filter(|_| entry.is_running) {
            pass_on(job, dir, request);
        }
        drop(jobs);
        self.moved.notify_waiters();
        true
    }

    /// Waits until a job is asked to end in a way that counts.
    pub(super) async fn stop_requested(&self, job: JobId, counts: impl Fn(StopRequest) -> bool) {
        self.until(|jobs| jobs.held.get(&job).is_none_or(|entry| entry.stop.is_some_and(&counts)))
            .await;
    }

    /// Waits until no other job of the task that was asked to end is left running: the next job must
    /// not share the workspace with it.
    pub(super) async fn stopped_jobs_ended(&self, job: JobId, task: TaskId) {
        self.until(|jobs| {
            !jobs.held.iter().any(|(id, entry)| {
                let is_ending = entry.is_running && entry.stop.is_some();
                *id != job && entry.task == Some(task) && is_ending
            })
        })
        .await;
    }

    async fn until(&self, is_so: impl Fn(&Jobs) -> bool) {
        loop {
            let mut moved = std::pin::pin!(self.moved.notified());
            // From here on nothing is missed.
            moved.as_mut().enable();
            if is_so(&self.jobs()) {
                return;
            }
            moved.await;
        }
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
        self.moved.notify_waiters();
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

    /// Does something with the workspace of a task that no job uses. None is admitted meanwhile.
    pub(super) fn unless_used<T>(&self, task: TaskId, act: impl FnOnce() -> T) -> Option<T> {
        let jobs = self.jobs();
        // An adopted job whose task is not known could be of any.
        let is_used = |entry: &Entry| entry.task.is_none_or(|other| other == task);
        (!jobs.held.values().any(is_used)).then(act)
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
    fn the_workspace_of_a_task_with_a_job_is_left_alone() {
        let (roster, job, task) = (Roster::default(), JobId::generate(), TaskId::generate());
        assert_eq!(roster.unless_used(task, || ()), Some(()));

        roster.admit(job, Some(task));

        assert_eq!(roster.unless_used(task, || ()), None);
        assert_eq!(roster.unless_used(TaskId::generate(), || ()), Some(()));
    }

    #[tokio::test]
    async fn a_job_waits_for_stopped_jobs_of_its_task_only() {
        let (roster, task) = (Roster::default(), TaskId::generate());
        let [old, other, new] = [(); 3].map(|()| JobId::generate());
        roster.admit(old, Some(task));
        roster.admit(other, Some(TaskId::generate()));
        roster.admit(new, Some(task));
        // Jobs of one task may run side by side.
        roster.stopped_jobs_ended(new, task).await;
        roster.stop(old, StopRequest::Cancel);
        roster.stop(other, StopRequest::Cancel);

        let mut waiting = std::pin::pin!(roster.stopped_jobs_ended(new, task));
        assert!(futures_poll(waiting.as_mut()).is_none());
        roster.ended(other);
        assert!(futures_poll(waiting.as_mut()).is_none());
        roster.ended(old);

        waiting.await;
    }

    /// Polls once.
    fn futures_poll<T>(future: std::pin::Pin<&mut impl Future<Output = T>>) -> Option<T> {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match future.poll(&mut context) {
            std::task::Poll::Ready(value) => Some(value),
            std::task::Poll::Pending => None,
        }
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
