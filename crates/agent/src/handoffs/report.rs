//! An agent reported: what follows is instructed, routed or left for a person.

use cynode_domain::agent::InstructionKind;
use cynode_domain::report::{Report, TestResults, WorkDone};
use cynode_wire::handoff::{ActedAnswer, AgentReportHandoff, Handoff, TaskFacts};
use serde_json::{Value, json};

use crate::AgentError;
use crate::brain::decisions::{FailureAction, HandleFailure};
use crate::context::untrusted;
use crate::tools;
use crate::work::Work;

/// How often an agent may fail before a person is asked.
const MAX_FAILURES: u32 = 3;

/// Does what follows from a report.
pub(crate) async fn agent_report(
    mut work: Work,
    handoff: &Handoff<AgentReportHandoff>,
) -> Result<ActedAnswer, AgentError> {
    let AgentReportHandoff { from, report } = &handoff.body;
    let task = handoff.context.task.as_ref();
    let summary = match report {
        Report::TestsFailed(tests) => failed(&mut work, task, from, &failures(tests)).await?,
        Report::WorkBlocked(blocker) => failed(&mut work, task, from, &blocker.reason).await?,
        Report::NeedsClarification(asked) | Report::RequestHumanInput(asked) => {
            format!("a person must answer {from}: {}", untrusted::inline(&asked.question))
        }
        Report::WorkCompleted(done) => completed(from, done),
        Report::ReviewApproved(review) => {
            format!("{from} approved: {}", untrusted::inline(&review.summary))
        }
        Report::ReviewChangesRequested(review) => {
            format!("{from} wants changes: {}", untrusted::inline(&review.summary))
        }
        Report::TestsPassed(tests) => format!("{} of {} tests passed", tests.passed, tests.total),
    };
    Ok(ActedAnswer { summary, tasks: vec![], decisions: work.decisions })
}

fn completed(from: &str, done: &WorkDone) -> String {
    let unit = done.work_unit_id.as_deref().unwrap_or("its work");
    format!("{from} completed {unit}: {}", untrusted::inline(&done.summary))
}

fn failures(tests: &TestResults) -> String {
    let names: Vec<String> =
        tests.failures.iter().map(|test| format!("{}: {}", test.name, test.message)).collect();
    format!("{} of {} tests failed\n{}", tests.failed, tests.total, names.join("\n"))
}

/// Decides about a failure, and tells the agent.
async fn failed(
    work: &mut Work,
    task: Option<&TaskFacts>,
    from: &str,
    error: &str,
) -> Result<String, AgentError> {
    let Some(task) = task else { return Ok(format!("{from} failed outside of a task")) };
    let question = HandleFailure {
        role: from.to_owned(),
        failures: earlier(work, task, from).await?,
        max_failures: MAX_FAILURES,
        error: error.to_owned(),
        checkpoint: None,
    };
    let handled = work.think(&question).await?;
    let kind = match handled.action {
        FailureAction::Retry => InstructionKind::Continue,
        FailureAction::ReduceScope => InstructionKind::ReduceScope,
        FailureAction::Escalate => InstructionKind::Pause,
    };
    let words = match handled.action {
        FailureAction::Retry => "Try again; mend what failed first.",
        FailureAction::ReduceScope => "Do less: leave out what failed, and say what you left out.",
        FailureAction::Escalate => "Wait: a person decides how it goes on.",
    };
    let arguments = json!({
        "task_id": task.id, "toAgent": from, "instructionType": kind, "instructions": words,
    });
    let _: Value = tools::call(work.tools.as_ref(), "apmas_pm_instruct", arguments).await?;
    Ok(format!("{from} is told: {words} ({})", untrusted::inline(&handled.reason)))
}

/// How often an agent has reported a failure of this task, the present one included.
async fn earlier(work: &Work, task: &TaskFacts, from: &str) -> Result<u32, AgentError> {
    let arguments = json!({ "task_id": task.id, "role": from, "kind": "report", "limit": 50 });
    let page: Value = tools::call(work.tools.as_ref(), "db.message.list", arguments).await?;
    let is_failure = |message: &&Value| {
        matches!(message["type"].as_str(), Some("tests_failed" | "work_blocked"))
    };
    let items = page["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    let count = items.iter().filter(is_failure).count();
    Ok(u32::try_from(count).unwrap_or(u32::MAX).max(1))
}
