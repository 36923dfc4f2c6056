//! Signal handling, tested in a child process: this test binary, running one test.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::tasks::BackgroundTasks;
use cynode_runtime::telemetry::{self, LogOptions};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Set for the child process; its value selects how the process ends.
const ROLE_VAR: &str = "RUNTIME_TEST_ROLE";

/// A child process that logs `ready`, and `stopping` on shutdown.
struct SignalProcess {
    child: Child,
    log: BufReader<ChildStderr>,
}

impl SignalProcess {
    fn start(role: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "signals::process_that_waits_for_signals", "--nocapture"])
            .env(ROLE_VAR, role)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = BufReader::new(child.stderr.take().unwrap());
        let mut waiting = Self { child, log };
        waiting.wait_for_log("ready");
        waiting
    }

    fn wait_for_log(&mut self, word: &str) -> String {
        let mut line = String::new();
        while self.log.read_line(&mut line).unwrap() > 0 {
            if line.contains(word) {
                return line;
            }
            line.clear();
        }
        panic!("the process ended before it logged {word}");
    }

    fn send(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), signal).unwrap();
    }

    fn wait_for_exit(mut self) -> (Option<i32>, String) {
        let mut rest = String::new();
        self.log.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }
}

/// Not a test: the entry point of the child process. Does nothing without [`ROLE_VAR`].
#[tokio::test(flavor = "multi_thread")]
async fn process_that_waits_for_signals() {
    let Some(role) = std::env::var_os(ROLE_VAR) else {
        return;
    };
    let _telemetry = telemetry::init("waiting", &LogOptions::default()).unwrap();
    let tasks = BackgroundTasks::new();
    let shutdown = Shutdown::on_signals(&tasks).unwrap();
    tracing::info!(password = "hunter2", "ready");
    shutdown.triggered().await;
    tracing::info!("asked to stop");
    if role == "stubborn" {
        std::future::pending::<()>().await;
    }
    assert!(tasks.finish(Duration::from_mins(1)).await);
    tracing::info!("all tasks ended");
}

#[test]
fn sigterm_and_sigint_ask_the_process_to_stop_gracefully() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let waiting = SignalProcess::start("graceful");
        waiting.send(signal);
        let (code, log) = waiting.wait_for_exit();
        assert_eq!(code, Some(0), "{log}");
        assert!(log.contains(&format!("stopping on {signal}")), "{log}");
        assert!(log.contains("all tasks ended"), "{log}");
    }
}

#[test]
fn a_second_sigint_ends_a_process_that_does_not_stop() {
    let mut waiting = SignalProcess::start("stubborn");
    waiting.send(Signal::SIGINT);
    waiting.wait_for_log("asked to stop");
    waiting.send(Signal::SIGINT);
    assert_eq!(waiting.wait_for_exit().0, Some(130));
}

#[test]
fn the_log_of_a_process_is_redacted_json_on_stderr() {
    let waiting = SignalProcess::start("graceful");
    waiting.send(Signal::SIGTERM);
    let (_, log) = waiting.wait_for_exit();
    let line = log.lines().find(|line| line.contains("all tasks ended")).unwrap();
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!(line["service"], "waiting");
    assert!(!log.contains("hunter2"), "{log}");
}
