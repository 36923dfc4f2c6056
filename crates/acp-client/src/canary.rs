//! A canary run: tries the program of a job out, and observes it.
//!
//! Start at [`run_canary`]. The node answers the program's model and tool calls from a script, and counts them; this side
//! starts the program twice. With the first prompt it calls its model and its tool, and ends. The model does not answer
//! the second prompt; the program is asked to stop while it waits.
//!
//! A canary run finds programs that do not work. It is no boundary: a program that means harm can behave well in a canary
//! run, and can overwrite the result of this one. The sandbox and the node confine every job alike.

mod listener;
mod network_probe;
mod remaining_processes;

use std::time::Duration;

use cynode_agent_job::OpenJob;
use cynode_agent_job::stop::JobEnd;
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::terminal_text::one_safe_line;
use cynode_wire::agent_jobs::{
    AgentJobResult, AgentProgramSpec, CanaryObservation, CanaryObservations, StopCondition,
};
use cynode_wire::transcript::AGENT;
use tokio::time::Instant;

use self::listener::CanaryListener;
use self::network_probe::probe_network;
use self::remaining_processes::{adopt_orphans, end_remaining};
use crate::program::{Interruption, ProgramObservations, ProgramOptions, ProgramRun, run_once};

/// How long a program may take until it calls its model.
const MODEL_PATIENCE: Duration = Duration::from_mins(2);
/// The most time of the first prompt.
const FIRST_LIMIT: Duration = Duration::from_mins(4);
/// Time at the end for stopping the program.
const STOP_RESERVE: Duration = Duration::from_secs(10);
/// How long processes may take to end after their program.
const REMAINING_PATIENCE: Duration = Duration::from_secs(2);
/// The interval at which the node's counters are polled.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// The most bytes of an observation.
const DETAIL_BYTES: usize = 800;

const FIRST_PROMPT: &str = "\
This is a trial of your program; no work is expected. Call the tool `canary` once, if you have it, and end with its result \
in one short line. Change no files.";
const SECOND_PROMPT: &str = "\
This is the second part of the trial; no work is expected. Call no tool, change no files, and answer with this word:";

/// Runs the program of the job twice, as a trial. The result succeeds if the trial was completed, whatever it showed; what it
/// showed is in `canary`.
///
/// `model_url` is the address of the model: the node's counters are at `/canary` of the same origin.
pub async fn run_canary(
    mut job: OpenJob,
    options: &ProgramOptions,
    model_url: &str,
    shutdown: &Shutdown,
) -> AgentJobResult {
    let seconds = Duration::from_secs(job.spec().constraints.max_runtime_seconds.into());
    let no_network = probe_network().await;
    note(&mut job, "no network", &no_network);
    adopt_orphans();
    let trial = CanaryTrial {
        options,
        listener: CanaryListener::new(model_url),
        shutdown,
        started: Instant::now(),
        limit: seconds,
    };
    let (agent, starts, stops) = trial.run(&mut job).await;
    note(&mut job, "starts", &starts);
    note(&mut job, "stops", &stops);
    let end = if shutdown.is_triggered() {
        JobEnd::unmet(StopCondition::GaveUp, cynode_agent_job::stop::STOPPED_ON_REQUEST)
    } else {
        let summary = "The canary run is complete.".to_owned();
        JobEnd::Met { summary, evidence: Vec::new() }
    };
    let mut result = job.close(&end).await;
    result.canary = Some(CanaryObservations { agent, starts, no_network, stops });
    result
}

fn note(job: &mut OpenJob, subject: &str, observation: &CanaryObservation) {
    job.journal.note(AGENT, subject, observation.is_met, &observation.detail);
}

fn met(detail: impl AsRef<str>) -> CanaryObservation {
    let detail = one_safe_line(detail.as_ref(), DETAIL_BYTES);
    CanaryObservation { is_met: true, detail }
}

fn unmet(detail: impl AsRef<str>) -> CanaryObservation {
    CanaryObservation { is_met: false, ..met(detail) }
}

/// One trial of a program.
struct CanaryTrial<'a> {
    options: &'a ProgramOptions,
    listener: CanaryListener,
    shutdown: &'a Shutdown,
    started: Instant,
    limit: Duration,
}

/// How a run of the program ended.
struct PhaseEnd {
    end: JobEnd,
    observed: ProgramObservations,
    /// Whether the program was asked to stop.
    is_stopped: bool,
    /// Names of processes that were left and killed.
    remaining: Vec<String>,
}

impl CanaryTrial<'_> {
    /// Returns name and version of the agent, whether it starts, and whether it stops.
    async fn run(
        &self,
        job: &mut OpenJob,
    ) -> (Option<String>, CanaryObservation, CanaryObservation) {
        let Some(before) = self.listener.read_state().await else {
            let failed = unmet("the listener of the sandbox does not answer");
            return (None, failed.clone(), failed);
        };
        let limit = (self.limit * 3 / 5).min(FIRST_LIMIT);
        let patience = (limit / 2).min(MODEL_PATIENCE);
        let is_silent =
            async { !self.wait_for_request(patience, |state| state.model_requests > 0).await };
        let first = self.run_phase(job, FIRST_PROMPT.to_owned(), limit, is_silent).await;
        let agent = first.observed.agent.clone();
        let is_command = matches!(job.program(), Some(AgentProgramSpec::Command { .. }));
        let starts = observe_start(&first, is_command, patience);
        let has_called =
            self.listener.read_state().await.is_some_and(|state| {
                state.model_requests > 0 && state.stop_word == before.stop_word
            });
        if !has_called {
            let stops = unmet("not tried, because the program did not call its model");
            return (agent, starts, stops);
        }
        let rest = self.limit.saturating_sub(self.started.elapsed() + STOP_RESERVE);
        let patience = rest.clamp(Duration::from_secs(1), MODEL_PATIENCE);
        let prompt = format!("{SECOND_PROMPT} {}", before.stop_word);
        let holds = async {
            self.wait_for_request(patience, |state| state.held_requests > 0).await;
            true
        };
        let second = self.run_phase(job, prompt, patience + STOP_RESERVE, holds).await;
        let is_held = self.listener.read_state().await.is_some_and(|state| state.held_requests > 0);
        let left = [first.remaining, second.remaining.clone()].concat();
        (agent, starts, self.observe_stop(&second, is_held, &left, patience))
    }

    /// Runs the program with a prompt; asks it to stop once `should_stop` resolves to true.
    async fn run_phase(
        &self,
        job: &mut OpenJob,
        prompt: String,
        limit: Duration,
        should_stop: impl Future<Output = bool>,
    ) -> PhaseEnd {
        let stop = Shutdown::new();
        let seconds = u32::try_from(limit.as_secs()).unwrap_or(u32::MAX).max(1);
        let interruption = Interruption::after_seconds(seconds, &stop);
        let observed = ProgramObservations::default();
        let mut run =
            ProgramRun { options: self.options, feed: None, interruption, prompt, observed };
        let watch = async {
            tokio::select! {
                () = self.shutdown.triggered() => stop.trigger(),
                is_wanted = should_stop => if is_wanted { stop.trigger() },
            }
            self.shutdown.triggered().await;
            stop.trigger();
            std::future::pending::<()>().await;
        };
        let end = tokio::select! {
            end = Box::pin(run_once(job, &mut run)) => end,
            () = watch => JobEnd::unmet(StopCondition::GaveUp, "stopped"),
        };
        let observed = run.observed;
        let remaining = end_remaining(REMAINING_PATIENCE).await;
        PhaseEnd { end, observed, is_stopped: stop.is_triggered(), remaining }
    }

    /// Waits until the node's counters match. False if they do not within `patience`, or another process of the node serves
    /// the sandbox.
    async fn wait_for_request(
        &self,
        patience: Duration,
        is_there: impl Fn(&cynode_wire::agent_jobs::CanaryState) -> bool,
    ) -> bool {
        let deadline = Instant::now() + patience;
        let mut stop_word = None;
        while Instant::now() < deadline {
            if let Some(state) = self.listener.read_state().await {
                if is_there(&state) {
                    return true;
                }
                if *stop_word.get_or_insert_with(|| state.stop_word.clone()) != state.stop_word {
                    return false;
                }
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        false
    }

    fn observe_stop(
        &self,
        phase: &PhaseEnd,
        is_held: bool,
        left: &[String],
        patience: Duration,
    ) -> CanaryObservation {
        let timeouts = self.options.timeouts;
        let observed = &phase.observed;
        match phase {
            PhaseEnd { is_stopped: false, end, .. } => {
                let how = describe_end(end);
                unmet(format!(
                    "the program ended before it was asked to, with the second prompt: {how}"
                ))
            }
            _ if !is_held => unmet(format!(
                "no request to the model within {} s of the second prompt",
                patience.as_secs()
            )),
            _ if observed.is_killed => {
                let asked = if observed.is_cancelled.is_some() {
                    format!("session/cancel ({} s) and ", timeouts.cancel.as_secs())
                } else {
                    String::new()
                };
                unmet(format!(
                    "the program ignored {asked}SIGTERM ({} s) while it waited for its model, and was killed",
                    timeouts.exit.as_secs()
                ))
            }
            _ if !left.is_empty() => unmet(format!(
                "processes were left when the program had ended: {}",
                left.join(", ")
            )),
            _ => met(match observed.is_cancelled {
                Some(true) => "it ended its turn on session/cancel, and left no process",
                Some(false) => "it did not end its turn on session/cancel, but ended on SIGTERM",
                None => "it ended on SIGTERM, and left no process",
            }),
        }
    }
}

fn observe_start(phase: &PhaseEnd, is_command: bool, patience: Duration) -> CanaryObservation {
    let how = describe_end(&phase.end);
    match &phase.end {
        _ if phase.is_stopped => {
            unmet(format!("stopped after {} s without a request to the model", patience.as_secs()))
        }
        JobEnd::Met { .. } => met("it took the first prompt and ended by itself"),
        // Whether it called its model decides: it may not like the scripted answer.
        JobEnd::Unmet { .. } if is_command && phase.observed.has_prompt => {
            met(format!("it was started; {how}"))
        }
        JobEnd::Unmet { .. } => unmet(how),
    }
}

fn describe_end(end: &JobEnd) -> &str {
    match end {
        JobEnd::Met { .. } => "it ended by itself",
        JobEnd::Unmet { message, .. } => message,
    }
}
