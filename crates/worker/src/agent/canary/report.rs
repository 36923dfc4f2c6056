//! The report of a canary run: what the node counted, and what `cynode-sba` observed inside the sandbox.

use std::fs;
use std::io;
use std::time::Duration;

use cynode_client::Client;
use cynode_domain::ids::JobId;
use cynode_domain::job::JobEnding;
use cynode_runtime::terminal_text::one_safe_line;
use cynode_sandbox::durable_files;
use cynode_sandbox::job_dir::JobDir;
use cynode_wire::agent_jobs::{
    AgentJobResult, AgentProgramSpec, CanaryObservation, CanaryObservations,
};
use cynode_wire::agent_profiles::{
    CanaryCheck, CanaryCheckKind, CanaryOutcome, CanaryReport, MAX_AGENT_BYTES, MAX_DETAIL_BYTES,
};

use super::super::agent_result::read_agent_result;
use super::super::{DaemonContext, run_blocking};
use super::{CanaryCounts, CanaryOrigin, CanaryRun};

/// The report in the job's directory, which no job can write.
const REPORT_FILE: &str = "canary.json";

/// How a canary run ended.
#[derive(Debug, Clone)]
pub(in crate::agent) struct CanaryEnding {
    /// How its sandbox ended.
    pub(in crate::agent) sandbox: JobEnding,
    /// How its job ends after the upload of its files.
    pub(in crate::agent) job: JobEnding,
}

impl CanaryEnding {
    /// Returns the ending of the job if the run was not completed for a reason other than its program. Such a run shows nothing
    /// about the program.
    fn incomplete(&self, origin: CanaryOrigin) -> Option<JobEnding> {
        use JobEnding::{Canceled, Exited, Interrupted, LimitReached, NotStarted, TimedOut};
        match &self.job {
            Canceled | Interrupted { .. } | NotStarted { .. } => Some(self.job.clone()),
            // Its files were not stored.
            job if *job != self.sandbox => Some(job.clone()),
            Exited { .. } | TimedOut | LimitReached { .. } => {
                let reason = "the worker node was restarted; run it again".to_owned();
                (origin == CanaryOrigin::EarlierProcess).then_some(Interrupted { reason })
            }
        }
    }
}

/// Builds, persists and sends the report of a completed run; returns the ending of its job, which succeeds only if the run
/// passed. A run that was not completed has no report, because a failed one withdraws an admission. The error is for people.
pub(in crate::agent) async fn report_canary(
    context: &DaemonContext,
    job: JobId,
    dir: &JobDir,
    run: &CanaryRun,
    ending: &CanaryEnding,
    limit: Duration,
) -> Result<JobEnding, String> {
    let (owned, counts) = (dir.clone(), run.seen().clone());
    let (origin, how) = (run.origin, ending.clone());
    let written = run_blocking(move || load_or_write_report(&owned, origin, &counts, &how)).await;
    let report = match written {
        Ok(Ok(Ok(report))) => report,
        Ok(Ok(Err(incomplete))) => {
            let how = incomplete.describe();
            tracing::warn!(job.id = %job, ending = how, "canary run not completed");
            return Ok(incomplete);
        }
        Ok(Err(error)) => return Err(format!("its report cannot be written: {error}")),
        Err(error) => return Err(error.to_string()),
    };
    let sent = &report;
    let put = |client: Client| async move { client.node_report_canary(job, sent).await };
    let answered = context.call_until_answered_within(job, limit, put).await;
    answered.map_err(|error| format!("its report was not accepted: {error}"))?;
    tracing::info!(job.id = %job, passed = report.is_passed(), "canary run reported");
    let is_failed = ending.job.is_success() && !report.is_passed();
    Ok(if is_failed { JobEnding::Exited { code: 1 } } else { ending.job.clone() })
}

/// Returns the report, or the ending of a job whose run was not completed. A report that an earlier process wrote is final: it
/// may have been sent.
fn load_or_write_report(
    dir: &JobDir,
    origin: CanaryOrigin,
    counts: &CanaryCounts,
    ending: &CanaryEnding,
) -> io::Result<Result<CanaryReport, JobEnding>> {
    let path = dir.path().join(REPORT_FILE);
    match fs::read(&path) {
        Ok(written) => return Ok(Ok(serde_json::from_slice(&written)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    if let Some(incomplete) = ending.incomplete(origin) {
        return Ok(Err(incomplete));
    }
    let report = match read_observations(dir, &ending.sandbox) {
        Ok(observed) => merge(&observed, counts, is_command(dir)),
        Err(reason) => fail_all(&reason),
    };
    durable_files::write_json(&path, &report)?;
    Ok(Ok(report))
}

fn is_command(dir: &JobDir) -> bool {
    let agent = dir.spec().ok().and_then(|spec| spec.assignment.agent);
    agent.is_some_and(|agent| matches!(agent.program, AgentProgramSpec::Command { .. }))
}

/// Reads what `cynode-sba` observed. If it did not end by itself, its result is not its own.
fn read_observations(dir: &JobDir, ending: &JobEnding) -> Result<CanaryObservations, String> {
    if *ending != (JobEnding::Exited { code: 0 }) {
        return Err(format!("the canary run was not completed: it {}", ending.describe()));
    }
    let result: AgentJobResult = read_agent_result(dir)
        .map_err(|error| format!("the result of the canary run cannot be read: {error}"))?;
    result.canary.ok_or_else(|| "the result of the canary run has no observations".to_owned())
}

fn fail_all(reason: &str) -> CanaryReport {
    let fail = |kind| check(kind, CanaryOutcome::Failed, reason);
    CanaryReport { agent: None, checks: CanaryCheckKind::ALL.map(fail).to_vec() }
}

fn merge(observed: &CanaryObservations, counts: &CanaryCounts, is_command: bool) -> CanaryReport {
    let agent = observed.agent.as_deref().map(|agent| one_safe_line(agent, MAX_AGENT_BYTES));
    let checks = vec![
        check_start(&observed.starts, counts),
        check_model(counts),
        check_tools(counts, is_command),
        observe(CanaryCheckKind::NoNetwork, &observed.no_network),
        check_stop(&observed.stops, counts),
    ];
    CanaryReport { agent: agent.filter(|agent| !agent.is_empty()), checks }
}

/// A command may fail, because it may not like the scripted answers; one that has called its model has started.
fn check_start(observed: &CanaryObservation, counts: &CanaryCounts) -> CanaryCheck {
    if counts.model_requests == 0 && observed.is_met {
        let detail = format!("it did not call its model: {}", observed.detail);
        return check(CanaryCheckKind::Starts, CanaryOutcome::Failed, &detail);
    }
    observe(CanaryCheckKind::Starts, observed)
}

fn check_model(counts: &CanaryCounts) -> CanaryCheck {
    let kind = CanaryCheckKind::Model;
    if counts.model_requests > 0 {
        let detail = format!("{} requests to the model", counts.model_requests);
        return check(kind, CanaryOutcome::Passed, &detail);
    }
    let refusal = counts.refusal.as_ref();
    let refusal = refusal.map(|reason| format!("; {reason}")).unwrap_or_default();
    let detail = format!(
        "no request to the model; the program must use OPENAI_BASE_URL (/chat/completions) or \
         ANTHROPIC_BASE_URL (/v1/messages){refusal}"
    );
    check(kind, CanaryOutcome::Failed, &detail)
}

fn check_tools(counts: &CanaryCounts, is_command: bool) -> CanaryCheck {
    let kind = CanaryCheckKind::Tools;
    let failed = |detail| check(kind, CanaryOutcome::Failed, detail);
    match counts {
        CanaryCounts { tool_calls: 1.., tool_results: 1.., .. } => check(
            kind,
            CanaryOutcome::Passed,
            "the tool was called, and the model was given its result",
        ),
        CanaryCounts { tool_calls: 1.., .. } => {
            failed("the tool was called, but no later request to the model had its result")
        }
        _ if is_command => check(
            kind,
            CanaryOutcome::NotApplicable,
            "the command did not call the tool; commands get tools only if they use CYNODE_MCP_URL",
        ),
        CanaryCounts { is_tool_offered: true, .. } => {
            failed("the model asked for a call of the tool, but the program did not call it")
        }
        _ => failed(
            "the tool was not offered to the model; the program must start the MCP servers of session/new",
        ),
    }
}

/// The program inside the sandbox could forge the observation, but not the request that the node held.
fn check_stop(observed: &CanaryObservation, counts: &CanaryCounts) -> CanaryCheck {
    let mut stop = observe(CanaryCheckKind::Stops, observed);
    if counts.held_requests == 0 && observed.is_met {
        let detail = "the node saw no request to the model to stop in";
        stop = check(CanaryCheckKind::Stops, CanaryOutcome::Failed, detail);
    }
    stop
}

fn observe(kind: CanaryCheckKind, observed: &CanaryObservation) -> CanaryCheck {
    let outcome = if observed.is_met { CanaryOutcome::Passed } else { CanaryOutcome::Failed };
    check(kind, outcome, &observed.detail)
}

fn check(kind: CanaryCheckKind, outcome: CanaryOutcome, detail: &str) -> CanaryCheck {
    CanaryCheck { kind, outcome, detail: clip_detail(detail) }
}

/// One line of untrusted text.
pub(super) fn clip_detail(text: &str) -> String {
    one_safe_line(text, MAX_DETAIL_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed() -> CanaryObservations {
        let met = || CanaryObservation { is_met: true, detail: "seen".to_owned() };
        CanaryObservations {
            agent: Some("\u{1b}[1mbird\n 1.0".to_owned()),
            starts: met(),
            no_network: met(),
            stops: met(),
        }
    }

    fn counts() -> CanaryCounts {
        CanaryCounts {
            model_requests: 2,
            held_requests: 1,
            is_tool_offered: true,
            wanted_calls: 1,
            tool_calls: 1,
            tool_results: 1,
            refusal: None,
        }
    }

    fn outcome(report: &CanaryReport, kind: CanaryCheckKind) -> CanaryOutcome {
        let found: Vec<_> = report.checks.iter().filter(|check| check.kind == kind).collect();
        assert_eq!(found.len(), 1, "{report:?}");
        found[0].outcome
    }

    #[test]
    fn a_run_that_its_program_did_not_end_is_incomplete() {
        use CanaryOrigin::{EarlierProcess, ThisProcess};
        let exited = || JobEnding::Exited { code: 0 };
        let interrupted = |reason: &str| JobEnding::Interrupted { reason: reason.to_owned() };
        let full = || JobEnding::LimitReached { limit: "no room".to_owned() };
        let incomplete = |sandbox, job, origin| CanaryEnding { sandbox, job }.incomplete(origin);

        let lost = || interrupted("not uploaded");
        assert_eq!(incomplete(exited(), lost(), ThisProcess), Some(lost()));
        assert_eq!(incomplete(exited(), full(), ThisProcess), Some(full()));
        assert_eq!(incomplete(lost(), lost(), EarlierProcess), Some(lost()));
        let restarted = interrupted("the worker node was restarted; run it again");
        assert_eq!(incomplete(exited(), exited(), EarlierProcess), Some(restarted));
        // The program is the reason.
        for ending in [exited(), JobEnding::Exited { code: 137 }, JobEnding::TimedOut, full()] {
            assert_eq!(incomplete(ending.clone(), ending, ThisProcess), None);
        }
    }

    #[test]
    fn a_run_passes_if_both_sides_saw_what_they_must() {
        let report = merge(&observed(), &counts(), false);
        assert!(report.is_passed(), "{report:?}");
        assert_eq!(report.agent.as_deref(), Some("bird 1.0"));
    }

    #[test]
    fn what_the_node_did_not_see_is_not_passed_whatever_was_observed() {
        use CanaryCheckKind::{Model, Starts, Stops, Tools};
        let report = merge(&observed(), &CanaryCounts::default(), false);

        for kind in [Starts, Model, Tools, Stops] {
            assert_eq!(outcome(&report, kind), CanaryOutcome::Failed, "{kind:?}");
        }
    }

    #[test]
    fn tools_must_work_or_be_unknown_to_a_command() {
        let tools = |counts: &CanaryCounts, is_command| {
            outcome(&merge(&observed(), counts, is_command), CanaryCheckKind::Tools)
        };
        let uncalled = CanaryCounts { tool_calls: 0, tool_results: 0, ..counts() };
        let lost = CanaryCounts { tool_results: 0, ..counts() };

        assert_eq!(tools(&uncalled, false), CanaryOutcome::Failed);
        assert_eq!(tools(&uncalled, true), CanaryOutcome::NotApplicable);
        assert_eq!(tools(&lost, true), CanaryOutcome::Failed);
        assert_eq!(tools(&counts(), true), CanaryOutcome::Passed);
    }
}
