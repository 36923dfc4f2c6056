//! The registry of jobs that the node holds, and of pending stop requests.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cynode_domain::ids::{JobId, TaskId};
use cynode_sandbox::job_dir::{JobDir, StopRequest};
use tokio::sync::Notify;

/// Number of delivered jobs remembered, in case a delayed response assigns one of them again.
const MAX_DELIVERED: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct JobRegistry {
    jobs: Mutex<JobTable>,
    /// Notified when the next poll's content has changed.
    poll_changed: Notify,
    /// Wakes tasks that wait for a job to end or to be asked to stop.
    state_changed: Notify,
}

#[derive(Debug, Default)]
struct JobTable {
    held: BTreeMap<JobId, JobRegistryEntry>,
    delivered: VecDeque<JobId>,
    /// Tasks whose workspace commands under leases use, with their number.
    used_workspaces: BTreeMap<TaskId, usize>,
}

#[derive(Debug)]
struct JobRegistryEntry {
    task: Option<TaskId>,
    /// Present once the job is accepted on disk.
    dir: Option<JobDir>,
    stop: Option<StopRequest>,
    is_running: bool,
    is_forgotten: bool,
}

impl JobRegistry {
    fn jobs(&self) -> MutexGuard<'_, JobTable> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job. False if the node holds it or delivered it before.
    pub(super) fn admit(&self, job: JobId, task: Option<TaskId>) -> bool {
        let mut jobs = self.jobs();
        if jobs.held.contains_key(&job) || jobs.delivered.contains(&job) {
            return false;
        }
        let entry =
            JobRegistryEntry { task, dir: None, stop: None, is_running: true, is_forgotten: false };
        jobs.held.insert(job, entry);
        true
    }

    /// Records that the job is on disk, and forwards a stop request that arrived earlier.
    pub(super) fn mark_accepted(&self, job: JobId, task: Option<TaskId>, dir: &JobDir) {
        if let Some(entry) = self.jobs().held.get_mut(&job) {
            entry.dir = Some(dir.clone());
            entry.task = entry.task.or(task);
            if let Some(request) = entry.stop {
                write_stop_request(job, dir, request);
            }
        }
    }

    /// Frees the job's slot; its result may not be delivered yet.
    pub(super) fn mark_ended(&self, job: JobId) {
        if let Some(entry) = self.jobs().held.get_mut(&job) {
            entry.is_running = false;
        }
        self.poll_changed.notify_one();
        self.state_changed.notify_waiters();
    }

    /// Removes a delivered job.
    pub(super) fn remove(&self, job: JobId) {
        let mut jobs = self.jobs();
        jobs.held.remove(&job);
        jobs.delivered.push_back(job);
        if jobs.delivered.len() > MAX_DELIVERED {
            jobs.delivered.pop_front();
        }
        drop(jobs);
        self.poll_changed.notify_one();
        self.state_changed.notify_waiters();
    }

    /// Requests that a job stops. False if that was requested before, or the job is unknown. A job that has
    /// ended can still be canceled, which stops the upload of its artifacts.
    pub(super) fn request_stop(&self, job: JobId, request: StopRequest) -> bool {
        let mut jobs = self.jobs();
        let Some(entry) = jobs.held.get_mut(&job) else { return false };
        if entry.stop.is_some() || !(entry.is_running || request == StopRequest::Cancel) {
            return false;
        }
        entry.stop = Some(request);
        if let Some(dir) = entry.dir.as_ref().filter(|_| entry.is_running) {
            write_stop_request(job, dir, request);
        }
        drop(jobs);
        self.state_changed.notify_waiters();
        true
    }

    /// Waits until a job has a stop request that matches `counts`, or is removed.
    pub(super) async fn wait_stop_requested(
        &self,
        job: JobId,
        counts: impl Fn(StopRequest) -> bool,
    ) {
        self.wait_until(|jobs| {
            jobs.held.get(&job).is_none_or(|entry| entry.stop.is_some_and(&counts))
        })
        .await;
    }

    /// Waits until no other job of the task is stopping: the next job must not share the workspace with it.
    pub(super) async fn wait_stopping_jobs(&self, job: JobId, task: TaskId) {
        self.wait_until(|jobs| {
            !jobs.held.iter().any(|(id, entry)| {
                let is_ending = entry.is_running && entry.stop.is_some();
                *id != job && entry.task == Some(task) && is_ending
            })
        })
        .await;
    }

    async fn wait_until(&self, is_so: impl Fn(&JobTable) -> bool) {
        loop {
            let mut moved = std::pin::pin!(self.state_changed.notified());
            // Registered before the check, so that no notification is missed.
            moved.as_mut().enable();
            if is_so(&self.jobs()) {
                return;
            }
            moved.await;
        }
    }

    pub(super) fn request_stop_all(&self, request: StopRequest) {
        for job in self.held_jobs() {
            self.request_stop(job, request);
        }
    }

    /// Marks a job whose result the orchestrator no longer needs. False if it was marked before, or is unknown.
    pub(super) fn mark_forgotten(&self, job: JobId) -> bool {
        let mut jobs = self.jobs();
        let Some(entry) = jobs.held.get_mut(&job) else { return false };
        let is_news = !entry.is_forgotten;
        entry.is_forgotten = true;
        drop(jobs);
        self.request_stop(job, StopRequest::Cancel);
        self.state_changed.notify_waiters();
        is_news
    }

    pub(super) fn is_forgotten(&self, job: JobId) -> bool {
        self.jobs().held.get(&job).is_none_or(|entry| entry.is_forgotten)
    }

    pub(super) fn held_jobs(&self) -> Vec<JobId> {
        self.jobs().held.keys().copied().collect()
    }

    pub(super) fn running_count(&self) -> u32 {
        let count = self.jobs().held.values().filter(|entry| entry.is_running).count();
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// Runs `act` if no job uses the task's workspace. Holds the lock, so no job is admitted meanwhile.
    pub(super) fn with_unused_workspace<T>(
        &self,
        task: TaskId,
        act: impl FnOnce() -> T,
    ) -> Option<T> {
        let jobs = self.jobs();
        // An adopted job with an unknown task could belong to any task.
        let is_used = |entry: &JobRegistryEntry| entry.task.is_none_or(|other| other == task);
        let is_unused =
            !jobs.held.values().any(is_used) && !jobs.used_workspaces.contains_key(&task);
        is_unused.then(act)
    }

    /// Keeps the workspace of a task, until it was released as often.
    pub(super) fn hold_workspace(&self, task: TaskId) {
        *self.jobs().used_workspaces.entry(task).or_default() += 1;
    }

    pub(super) fn release_workspace(&self, task: TaskId) {
        let mut jobs = self.jobs();
        if let Some(uses) = jobs.used_workspaces.get_mut(&task) {
            *uses -= 1;
            if *uses == 0 {
                jobs.used_workspaces.remove(&task);
            }
        }
    }

    /// Makes the poll loop send a new request at once.
    pub(super) fn signal_poll(&self) {
        self.poll_changed.notify_one();
    }

    pub(super) async fn wait_poll_changed(&self) {
        self.poll_changed.notified().await;
    }
}

fn write_stop_request(job: JobId, dir: &JobDir, request: StopRequest) {
    if let Err(error) = dir.request_stop(request) {
        tracing::error!(
            job.id = %job, error = &error as &dyn std::error::Error,
            "stop request cannot be written"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_admitted_once_even_after_its_delivery() {
        let (roster, job) = (JobRegistry::default(), JobId::generate());

        assert!(roster.admit(job, None));
        assert!(!roster.admit(job, None));
        roster.remove(job);
        assert!(!roster.admit(job, None));
        assert_eq!(roster.held_jobs(), []);
    }

    #[test]
    fn an_ended_job_is_held_without_taking_a_slot() {
        let (roster, job) = (JobRegistry::default(), JobId::generate());
        roster.admit(job, None);

        roster.mark_ended(job);

        assert_eq!((roster.running_count(), roster.held_jobs()), (0, vec![job]));
    }

    #[test]
    fn the_workspace_of_a_task_with_a_job_is_left_alone() {
        let (roster, job, task) = (JobRegistry::default(), JobId::generate(), TaskId::generate());
        assert_eq!(roster.with_unused_workspace(task, || ()), Some(()));

        roster.admit(job, Some(task));

        assert_eq!(roster.with_unused_workspace(task, || ()), None);
        assert_eq!(roster.with_unused_workspace(TaskId::generate(), || ()), Some(()));
    }

    #[test]
    fn a_workspace_is_held_until_every_command_released_it() {
        let (roster, task) = (JobRegistry::default(), TaskId::generate());
        roster.hold_workspace(task);
        roster.hold_workspace(task);

        roster.release_workspace(task);
        assert_eq!(roster.with_unused_workspace(task, || ()), None);
        roster.release_workspace(task);
        roster.release_workspace(task);

        assert_eq!(roster.with_unused_workspace(task, || ()), Some(()));
    }

    #[tokio::test]
    async fn a_job_waits_for_stopped_jobs_of_its_task_only() {
        let (roster, task) = (JobRegistry::default(), TaskId::generate());
        let [old, other, new] = [(); 3].map(|()| JobId::generate());
        roster.admit(old, Some(task));
        roster.admit(other, Some(TaskId::generate()));
        roster.admit(new, Some(task));
        // Jobs of one task may run side by side.
        roster.wait_stopping_jobs(new, task).await;
        roster.request_stop(old, StopRequest::Cancel);
        roster.request_stop(other, StopRequest::Cancel);

        let mut waiting = std::pin::pin!(roster.wait_stopping_jobs(new, task));
        assert!(poll_once(waiting.as_mut()).is_none());
        roster.mark_ended(other);
        assert!(poll_once(waiting.as_mut()).is_none());
        roster.mark_ended(old);

        waiting.await;
    }

    /// Polls once.
    fn poll_once<T>(future: std::pin::Pin<&mut impl Future<Output = T>>) -> Option<T> {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match future.poll(&mut context) {
            std::task::Poll::Ready(value) => Some(value),
            std::task::Poll::Pending => None,
        }
    }

    #[test]
    fn a_request_to_stop_that_comes_before_the_job_is_on_disk_is_kept() {
        let (roster, job) = (JobRegistry::default(), JobId::generate());
        let dir = tempfile::tempdir().unwrap();
        let dir = JobDir::open(dir.path());
        roster.admit(job, None);

        assert!(roster.request_stop(job, StopRequest::Cancel));
        assert!(!roster.request_stop(job, StopRequest::Cancel));
        roster.mark_accepted(job, None, &dir);

        assert_eq!(dir.stop_request(), Some(StopRequest::Cancel));
    }
}
