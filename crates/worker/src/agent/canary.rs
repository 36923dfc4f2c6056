//! Canary runs: an agent is tried out against a scripted model and a scripted tool, which the node serves itself.
//!
//! Start at [`CanaryRun`], which counts what the node sees; [`routes`] serves the sandbox's listener, and [`report`] turns
//! both what the node saw and what `cynode-sba` observed inside the sandbox into a report. No request leaves the node.
//!
//! A canary run finds programs that do not work in a sandbox. It is no boundary: a program can recognize it, and can forge
//! the observations from inside of its sandbox. What the node counts cannot be forged without requests, and every later job
//! is confined in the same way.
//!
//! Invariants: a run that this process did not serve from its start does not pass. A run that was not completed has no
//! report. A program that sends many or long requests uses little memory of the node.

mod chat_completions;
mod messages;
mod model_script;
mod report;
mod routes;
mod tool_server;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cynode_sandbox::job_dir::JobDir;
use cynode_wire::agent_jobs::CanaryState;

pub(super) use self::report::{CanaryEnding, report_canary};
pub(super) use self::routes::CanaryRoutes;

/// Which process of the node started a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CanaryOrigin {
    ThisProcess,
    /// What it saw is lost.
    EarlierProcess,
}

/// One canary run, as the node sees it. It is in memory only.
#[derive(Debug)]
pub(super) struct CanaryRun {
    origin: CanaryOrigin,
    /// What the tool returns. A request to the model that contains it shows that the tool works.
    code: String,
    /// A request to the model that contains it is not answered.
    stop_word: String,
    seen: Mutex<CanaryCounts>,
}

/// What the node has seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct CanaryCounts {
    /// Requests to the model that were answered.
    model_requests: u32,
    /// Requests to the model that were not answered because of the stop word.
    held_requests: u32,
    /// Whether the tool was offered to the model.
    is_tool_offered: bool,
    /// Calls of the tool that the model asked for.
    wanted_calls: u32,
    /// Calls of the tool.
    tool_calls: u32,
    /// Requests to the model with the result of the tool.
    tool_results: u32,
    /// The last request that was refused, and why.
    refusal: Option<String>,
}

impl CanaryRun {
    /// The run of a job; `None` if it is not a canary run.
    pub(super) fn of_job(dir: &JobDir, origin: CanaryOrigin) -> Option<Arc<Self>> {
        let is_canary = dir.spec().is_ok_and(|spec| spec.is_canary());
        is_canary.then(|| Arc::new(Self::new(origin)))
    }

    fn new(origin: CanaryOrigin) -> Self {
        let (code, stop_word) = (random_word("code"), random_word("word"));
        Self { origin, code, stop_word, seen: Mutex::default() }
    }

    fn seen(&self) -> MutexGuard<'_, CanaryCounts> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> CanaryState {
        let seen = self.seen();
        CanaryState {
            stop_word: self.stop_word.clone(),
            model_requests: seen.model_requests,
            held_requests: seen.held_requests,
        }
    }
}

/// A word that no text contains by accident. Without randomness it is empty, and the run does not pass: see `model_script`.
fn random_word(prefix: &str) -> String {
    let mut bytes = [0; 8];
    if let Err(error) = getrandom::fill(&mut bytes) {
        tracing::error!(%error, "no randomness");
        return String::new();
    }
    format!("{prefix}{:016x}", u64::from_le_bytes(bytes))
}
