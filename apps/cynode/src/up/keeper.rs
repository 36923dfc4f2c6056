//! Keeping one child running: start it again when it ends, slower each time, and give up when it
//! never gets anywhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cynode_runtime::tasks::Tasks;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep};

use super::child::{self, Role};

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// After so long a life a child's next end is a new trouble, not the old one.
const LONG_LIFE: Duration = Duration::from_secs(30);
/// How often a child may end before everything was ready once. How long it took to fail says
/// nothing: a database that does not answer takes its time.
const MAX_FAILED_STARTS: u32 = 5;

/// What a keeper has to tell.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// A child ended and is started again.
    Again {
        /// Which one.
        role: &'static str,
        /// How it ended.
        how: String,
    },
    /// A child cannot be started.
    GaveUp {
        /// Which one.
        role: &'static str,
        /// How it ended.
        how: String,
    },
}

/// Keeps one child running.
pub(crate) struct Keeper {
    /// Holds the moment at which the child is killed, once it is to stop.
    stop: watch::Sender<Option<Instant>>,
    tasks: Tasks,
}

impl Keeper {
    /// Starts the child. While `ready` is unset, a child that ends again and again is given up.
    pub(crate) fn start(
        role: Role,
        ready: Arc<AtomicBool>,
        notices: mpsc::UnboundedSender<Notice>,
    ) -> Self {
        let (stop, stopped) = watch::channel(None);
        let tasks = Tasks::new();
        tasks.spawn("keeper", keep(role, ready, notices, stopped));
        Self { stop, tasks }
    }

    /// Asks the child to end; it is killed at `kill_at` if it has not.
    pub(crate) fn stop(&self, kill_at: Instant) {
        self.stop.send_replace(Some(kill_at));
    }

    /// Waits until the child has ended, at most until `deadline`.
    pub(crate) async fn ended(&self, deadline: Instant) {
        self.tasks.finish(deadline.saturating_duration_since(Instant::now())).await;
    }
}

async fn keep(
    role: Role,
    ready: Arc<AtomicBool>,
    notices: mpsc::UnboundedSender<Notice>,
    mut stopped: watch::Receiver<Option<Instant>>,
) {
    let mut patience = Patience::default();
    let mut told = None;
    loop {
        let started = Instant::now();
        let (how, has_bad_setting) = match role.spawn() {
            Ok(mut child) => tokio::select! {
                ended = child.wait() => {
                    (role.ended)();
                    let has_bad_setting = child::has_bad_setting(&ended);
                    (child::describe(ended), has_bad_setting)
                }
                kill_at = stop_wish(&mut stopped) => return child::end(child, kill_at).await,
            },
            Err(error) => (format!("cannot be started: {error}"), false),
        };
        let (lived, is_ready) = (started.elapsed(), ready.load(Ordering::Relaxed));
        let next =
            if has_bad_setting && !is_ready { None } else { patience.after(lived, is_ready) };
        let Some(pause) = next else {
            // Without a receiver nobody is left to be told.
            let _ = notices.send(Notice::GaveUp { role: role.name, how });
            return;
        };
        // The same end, again and again, is one trouble and told once.
        if lived >= LONG_LIFE || told.as_ref() != Some(&how) {
            told = Some(how.clone());
            let _ = notices.send(Notice::Again { role: role.name, how });
        }
        tokio::select! {
            () = sleep(pause) => {}
            _ = stop_wish(&mut stopped) => return,
        }
    }
}

/// Returns when the child is to stop; a keeper that was dropped wants that at once.
async fn stop_wish(stopped: &mut watch::Receiver<Option<Instant>>) -> Instant {
    match stopped.wait_for(Option::is_some).await {
        Ok(kill_at) => kill_at.unwrap_or_else(Instant::now),
        Err(_) => Instant::now(),
    }
}

/// How often a child has failed, and how long to wait before it is started again.
#[derive(Debug, Default)]
struct Patience {
    /// Ends before everything was ready.
    failed_starts: u32,
    pause: Option<Duration>,
}

impl Patience {
    /// The pause after a life that long; `None` to give up.
    fn after(&mut self, lived: Duration, ready: bool) -> Option<Duration> {
        if !ready {
            self.failed_starts += 1;
            if self.failed_starts >= MAX_FAILED_STARTS {
                return None;
            }
        }
        let pause = match self.pause {
            Some(before) if lived < LONG_LIFE => (before * 2).min(LONGEST_PAUSE),
            Some(_) | None => FIRST_PAUSE,
        };
        self.pause = Some(pause);
        Some(pause)
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;

    const READY: bool = true;
    const STARTING: bool = false;

    fn shell(line: &str, dir: &Path) -> Role {
        let line = line.to_owned();
        Role {
            name: "test",
            executable: PathBuf::from("/bin/sh"),
            args: Box::new(move || vec!["-c".into(), line.clone().into()]),
            ended: Box::new(|| {}),
            log: dir.join("test.log"),
        }
    }

    #[test]
    fn the_pause_doubles_up_to_five_seconds_and_starts_over_after_a_long_life() {
        let mut patience = Patience::default();
        let mut after = |seconds| patience.after(Duration::from_secs(seconds), READY).unwrap();

        let pauses: Vec<u128> = (0..8).map(|_| after(0).as_millis()).collect();

        assert_eq!(pauses, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
        assert_eq!(after(31), FIRST_PAUSE);
    }

    #[test]
    fn five_ends_are_enough_before_everything_is_ready_however_long_they_took() {
        for seconds in [0, 3, 31] {
            let mut patience = Patience::default();
            let mut after = || patience.after(Duration::from_secs(seconds), STARTING);

            assert!((0..4).all(|_| after().is_some()));
            assert_eq!(after(), None, "after lives of {seconds} s");
        }
    }

    #[test]
    fn once_everything_was_ready_a_child_is_started_again_for_ever() {
        let mut patience = Patience::default();
        let mut after = |ready| patience.after(Duration::ZERO, ready);

        assert!((0..4).all(|_| after(STARTING).is_some()));
        assert!((0..20).all(|_| after(READY).is_some()));
    }

    #[tokio::test]
    async fn a_child_that_never_starts_is_given_up_with_the_way_it_ended() {
        let dir = tempfile::tempdir().unwrap();
        let (sender, mut notices) = mpsc::unbounded_channel();
        let role = shell("echo no port >&2; exit 3", dir.path());
        let _keeper = Keeper::start(role, Arc::default(), sender);

        let mut all = Vec::new();
        while let Some(notice) = notices.recv().await {
            all.push(notice);
        }

        let how = "ended with exit code 3".to_owned();
        assert_eq!(all.pop(), Some(Notice::GaveUp { role: "test", how }));
        let how = "ended with exit code 3".to_owned();
        assert_eq!(all, [Notice::Again { role: "test", how }], "one trouble is told once");
        let log = std::fs::read_to_string(dir.path().join("test.log")).unwrap();
        assert_eq!(log.lines().count(), 5);
    }

    #[tokio::test]
    async fn a_child_that_cannot_use_its_settings_is_given_up_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let (sender, mut notices) = mpsc::unbounded_channel();
        let role = shell("echo error: bad setting >&2; exit 2", dir.path());
        let _keeper = Keeper::start(role, Arc::default(), sender);

        let how = "ended with exit code 2".to_owned();
        assert_eq!(notices.recv().await, Some(Notice::GaveUp { role: "test", how }));
        assert_eq!(notices.recv().await, None);
        let log = std::fs::read_to_string(dir.path().join("test.log")).unwrap();
        assert_eq!(log.lines().count(), 1);
    }

    #[tokio::test]
    async fn a_child_that_ignores_the_wish_to_stop_is_killed() {
        let dir = tempfile::tempdir().unwrap();
        let (sender, mut notices) = mpsc::unbounded_channel();
        let line = "trap '' TERM; echo $$; while :; do sleep 0.05; done";
        let keeper = Keeper::start(shell(line, dir.path()), Arc::default(), sender);
        while std::fs::read_to_string(dir.path().join("test.log")).unwrap_or_default().is_empty() {
            tokio::task::yield_now().await;
        }

        let now = Instant::now();
        keeper.stop(now + Duration::from_millis(200));
        keeper.ended(now + Duration::from_secs(10)).await;

        // The channel closes when the keeper's task, and with it the child, has ended.
        assert_eq!(notices.recv().await, None);
        let pid = std::fs::read_to_string(dir.path().join("test.log")).unwrap();
        assert!(!Path::new("/proc").join(pid.trim()).exists());
    }
}
