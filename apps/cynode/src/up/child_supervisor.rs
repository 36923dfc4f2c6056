//! Supervises one child: restarts it with backoff, and fails if it never becomes ready.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cynode_domain::backoff::Backoff;
use cynode_runtime::tasks::BackgroundTasks;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep};

use super::child::{self, ChildSpec};

const BACKOFF: Backoff = Backoff { first: Duration::from_millis(100), cap: Duration::from_secs(5) };
/// A child that ran this long resets the backoff.
const BACKOFF_RESET_AFTER: Duration = Duration::from_secs(30);
/// Maximum exits before everything was ready once. Their duration does not matter: connecting to an unreachable
/// database takes long.
const MAX_FAILED_STARTS: u32 = 5;

/// Event of a supervised child.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ChildEvent {
    /// The child exited and is restarted.
    Restarting { role: &'static str, how: String },
    /// The child failed permanently.
    Failed { role: &'static str, how: String },
}

/// Supervises one child.
pub(crate) struct ChildSupervisor {
    /// The time of SIGKILL, once the child shall stop.
    stop: watch::Sender<Option<Instant>>,
    tasks: BackgroundTasks,
}

impl ChildSupervisor {
    /// Starts the child. While `ready` is unset, a child that fails repeatedly is not restarted any more.
    pub(crate) fn start(
        role: ChildSpec,
        ready: Arc<AtomicBool>,
        notices: mpsc::UnboundedSender<ChildEvent>,
    ) -> Self {
        let (stop, stopped) = watch::channel(None);
        let tasks = BackgroundTasks::new();
        tasks.spawn("child supervisor", supervise_child(role, ready, notices, stopped));
        Self { stop, tasks }
    }

    /// Stops the child with SIGTERM, and with SIGKILL at `kill_at`.
    pub(crate) fn stop(&self, kill_at: Instant) {
        self.stop.send_replace(Some(kill_at));
    }

    /// Waits until the child has exited, at most until `deadline`.
    pub(crate) async fn wait_until_exited(&self, deadline: Instant) {
        self.tasks.finish(deadline.saturating_duration_since(Instant::now())).await;
    }
}

async fn supervise_child(
    role: ChildSpec,
    ready: Arc<AtomicBool>,
    notices: mpsc::UnboundedSender<ChildEvent>,
    mut stopped: watch::Receiver<Option<Instant>>,
) {
    let mut restart_backoff = RestartBackoff::default();
    let mut last_report = None;
    loop {
        let started = Instant::now();
        let (how, has_bad_setting) = match role.spawn() {
            Ok(mut child) => tokio::select! {
                ended = child.wait() => {
                    (role.ended)();
                    let has_bad_setting = child::is_invalid_settings(&ended);
                    (child::describe_exit(ended), has_bad_setting)
                }
                kill_at = wait_for_stop(&mut stopped) => return child::terminate(child, kill_at).await,
            },
            Err(error) => (format!("cannot be started: {error}"), false),
        };
        let (lived, is_ready) = (started.elapsed(), ready.load(Ordering::Relaxed));
        let next = if has_bad_setting && !is_ready {
            None
        } else {
            restart_backoff.next_delay(lived, is_ready)
        };
        let Some(pause) = next else {
            // Without a receiver the notice is dropped.
            let _ = notices.send(ChildEvent::Failed { role: role.name, how });
            return;
        };
        // Repeated identical exits are reported once.
        if lived >= BACKOFF_RESET_AFTER || last_report.as_ref() != Some(&how) {
            last_report = Some(how.clone());
            let _ = notices.send(ChildEvent::Restarting { role: role.name, how });
        }
        tokio::select! {
            () = sleep(pause) => {}
            _ = wait_for_stop(&mut stopped) => return,
        }
    }
}

/// Returns when the child shall stop; immediately if the child supervisor was dropped.
async fn wait_for_stop(stopped: &mut watch::Receiver<Option<Instant>>) -> Instant {
    match stopped.wait_for(Option::is_some).await {
        Ok(kill_at) => kill_at.unwrap_or_else(Instant::now),
        Err(_) => Instant::now(),
    }
}

/// Restart policy: counts failed starts and computes the backoff.
#[derive(Debug, Default)]
struct RestartBackoff {
    /// Exits before everything was ready.
    failed_starts: u32,
    /// Exits since the child last ran long enough.
    exits: u32,
}

impl RestartBackoff {
    /// The delay before the next start; `None` to stop restarting.
    fn next_delay(&mut self, lived: Duration, ready: bool) -> Option<Duration> {
        if !ready {
            self.failed_starts += 1;
            if self.failed_starts >= MAX_FAILED_STARTS {
                return None;
            }
        }
        self.exits = if lived < BACKOFF_RESET_AFTER { self.exits.saturating_add(1) } else { 1 };
        Some(BACKOFF.delay(self.exits))
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;

    const READY: bool = true;
    const STARTING: bool = false;

    fn shell_spec(line: &str, dir: &Path) -> ChildSpec {
        let line = line.to_owned();
        ChildSpec {
            name: "test",
            executable: PathBuf::from("/bin/sh"),
            args: Box::new(move || vec!["-c".into(), line.clone().into()]),
            ended: Box::new(|| {}),
            log: dir.join("test.log"),
        }
    }

    #[test]
    fn the_pause_doubles_up_to_five_seconds_and_starts_over_after_a_long_life() {
        let mut restart_backoff = RestartBackoff::default();
        let mut after =
            |seconds| restart_backoff.next_delay(Duration::from_secs(seconds), READY).unwrap();

        let pauses: Vec<u128> = (0..8).map(|_| after(0).as_millis()).collect();

        assert_eq!(pauses, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
        assert_eq!(after(31), BACKOFF.first);
    }

    #[test]
    fn five_ends_are_enough_before_everything_is_ready_however_long_they_took() {
        for seconds in [0, 3, 31] {
            let mut restart_backoff = RestartBackoff::default();
            let mut after = || restart_backoff.next_delay(Duration::from_secs(seconds), STARTING);

            assert!((0..4).all(|_| after().is_some()));
            assert_eq!(after(), None, "after lives of {seconds} s");
        }
    }

    #[test]
    fn once_everything_was_ready_a_child_is_started_again_for_ever() {
        let mut restart_backoff = RestartBackoff::default();
        let mut after = |ready| restart_backoff.next_delay(Duration::ZERO, ready);

        assert!((0..4).all(|_| after(STARTING).is_some()));
        assert!((0..20).all(|_| after(READY).is_some()));
    }

    #[tokio::test]
    async fn a_child_that_never_starts_is_given_up_with_the_way_it_ended() {
        let dir = tempfile::tempdir().unwrap();
        let (sender, mut notices) = mpsc::unbounded_channel();
        let role = shell_spec("echo no port >&2; exit 3", dir.path());
        let _supervisor = ChildSupervisor::start(role, Arc::default(), sender);

        let mut all = Vec::new();
        while let Some(notice) = notices.recv().await {
            all.push(notice);
        }

        let how = "exited with code 3".to_owned();
        assert_eq!(all.pop(), Some(ChildEvent::Failed { role: "test", how }));
        let how = "exited with code 3".to_owned();
        assert_eq!(
            all,
            [ChildEvent::Restarting { role: "test", how }],
            "identical exits are reported once"
        );
        let log = std::fs::read_to_string(dir.path().join("test.log")).unwrap();
        assert_eq!(log.lines().count(), 5);
    }

    #[tokio::test]
    async fn a_child_that_cannot_use_its_settings_is_given_up_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let (sender, mut notices) = mpsc::unbounded_channel();
        let role = shell_spec("echo error: bad setting >&2; exit 2", dir.path());
        let _supervisor = ChildSupervisor::start(role, Arc::default(), sender);

        let how = "exited with code 2".to_owned();
        assert_eq!(notices.recv().await, Some(ChildEvent::Failed { role: "test", how }));
        assert_eq!(notices.recv().await, None);
        let log = std::fs::read_to_string(dir.path().join("test.log")).unwrap();
        assert_eq!(log.lines().count(), 1);
    }

    #[tokio::test]
    async fn a_child_that_ignores_the_wish_to_stop_is_killed() {
        let dir = tempfile::tempdir().unwrap();
        let (sender, mut notices) = mpsc::unbounded_channel();
        let line = "trap '' TERM; echo $$; while :; do sleep 0.05; done";
        let supervisor =
            ChildSupervisor::start(shell_spec(line, dir.path()), Arc::default(), sender);
        while std::fs::read_to_string(dir.path().join("test.log")).unwrap_or_default().is_empty() {
            tokio::task::yield_now().await;
        }

        let now = Instant::now();
        supervisor.stop(now + Duration::from_millis(200));
        supervisor.wait_until_exited(now + Duration::from_secs(10)).await;

        // The channel closes when the supervisor's task, and with it the child, has ended.
        assert_eq!(notices.recv().await, None);
        let pid = std::fs::read_to_string(dir.path().join("test.log")).unwrap();
        assert!(!Path::new("/proc").join(pid.trim()).exists());
    }
}
