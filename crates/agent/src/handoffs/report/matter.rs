//! What is known of a report while it is dealt with, and what can be done about it.

use cynode_domain::agent::InstructionKind::{self, Continue};
use cynode_domain::ids::MessageId;
use cynode_domain::report::ReviewFeedback;
use cynode_domain::status::WorkUnitStatus as Status;
use cynode_wire::apmas::InstructAgent;
use cynode_wire::handoff::{AgentReportHandoff, Handoff, TaskFacts};
use cynode_wire::work::Decision::{self, Approve, Resume, Revision};
use cynode_wire::work::{RouteWork, WorkUnitView};
use serde_json::{Value, json};
use tracing::debug;

use crate::AgentError;
use crate::brain::decisions::RouteAmbiguity;
use crate::tools;
use crate::work::Work;

/// The preference that says whether tests must pass before work goes on; they must where it is not set.
const REQUIRE_TESTS: &str = "agents.project_manager.review.require_tests";
/// How much of what was said about the task is looked at, newest first.
const LOOKED_AT: u32 = 100;
/// Who looks at the work of others, and mends nothing.
const LOOKERS: [&str; 2] = ["reviewer", "tester"];

/// The longest id of a work unit.
const MAX_UNIT_CHARS: usize = 100;
/// The longest notes that a decision about a unit takes.
const MAX_NOTES_BYTES: usize = 16 * 1024;

/// A report that is dealt with.
pub(in crate::handoffs) struct Matter {
    pub(in crate::handoffs) work: Work,
    pub(super) task: TaskFacts,
    pub(super) from: String,
    pub(super) component: Option<String>,
    /// The work unit that the message names.
    pub(super) work_unit: Option<String>,
    pub(super) require_tests: bool,
    /// What only a person can decide about it.
    pub(in crate::handoffs) needs_person: Option<String>,
    report: MessageId,
    /// What was said about the task, newest first.
    said: Vec<Value>,
}

impl Matter {
    /// The report of a handoff; nothing where it is about no task.
    pub(in crate::handoffs) async fn of(
        work: Work,
        handoff: &Handoff<AgentReportHandoff>,
    ) -> Result<Option<Self>, AgentError> {
        let Some(task) = handoff.context.task.clone() else { return Ok(None) };
        let body = &handoff.body;
        let preferred = handoff.context.preferences.effective.get(REQUIRE_TESTS);
        let arguments = json!({ "task_id": task.id, "limit": LOOKED_AT });
        let mut page: Value =
            tools::call(work.tools.as_ref(), "db.message.list", arguments).await?;
        let said = page["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
        Ok(Some(Self {
            work,
            task,
            from: body.from.clone(),
            component: body.component.clone(),
            work_unit: body.work_unit.clone(),
            require_tests: preferred.and_then(Value::as_bool).unwrap_or(true),
            needs_person: None,
            report: body.report_id,
            said,
        }))
    }

    /// The kind of instruction that was given about this report before.
    pub(super) fn told_before(&self) -> Option<InstructionKind> {
        let id = json!(self.report);
        let is_told =
            |said: &&Value| said["kind"] == "instruction" && said["payload"]["report_id"] == id;
        let told = self.said.iter().find(is_told)?;
        Some(told["type"].as_str().and_then(|kind| kind.parse().ok()).unwrap_or(Continue))
    }

    /// What was reported of this type about the same component, newest first.
    pub(super) fn reports<'a>(&'a self, types: &'a [&str]) -> impl Iterator<Item = &'a Value> {
        self.said.iter().filter(move |said| {
            let is_ours = self.component.is_none()
                || said["component"].is_null()
                || said["component"].as_str() == self.component.as_deref();
            said["kind"] != "instruction"
                && is_ours
                && types.iter().any(|word| said["type"] == *word)
        })
    }

    /// How often a role was told to revise this component.
    pub(super) fn rounds(&self, role: &str) -> u32 {
        let component = json!(self.component);
        let is_round = |said: &&Value| {
            said["kind"] == "instruction"
                && said["type"] == InstructionKind::Revise.as_str()
                && said["recipient"] == role
                && said["payload"]["component"] == component
        };
        u32::try_from(self.said.iter().filter(is_round).count()).unwrap_or(u32::MAX)
    }

    /// Whether the tests passed when they last ran; nothing if nobody said since the work was last sent
    /// back.
    pub(super) fn tests_pass(&self) -> Option<bool> {
        let newest = self.reports(&["tests_passed", "tests_failed"]).next()?;
        let is_revision = |said: &&Value| {
            said["kind"] == "instruction" && said["type"] == InstructionKind::Revise.as_str()
        };
        let revised = self.said.iter().find(is_revision);
        let is_stale = revised
            .is_some_and(|revised| revised["created_at"].as_str() > newest["created_at"].as_str());
        (!is_stale).then(|| newest["type"] == "tests_passed")
    }

    /// Tells a role what to do about the report.
    pub(super) async fn instruct(
        &self,
        (to, kind): (&str, InstructionKind),
        words: &str,
        mut context: Value,
    ) -> Result<(), AgentError> {
        context["report_id"] = json!(self.report);
        context["component"] = json!(self.component);
        let Ok(to_agent) = to.parse() else {
            debug!("{to} is no role that could be instructed");
            return Ok(());
        };
        let request = InstructAgent {
            task_id: self.task.id,
            to_agent,
            instruction_type: kind,
            instructions: words.to_owned(),
            context: Some(context),
            idempotency_key: Some(format!("report/{}", self.report)),
        };
        let tools = self.work.tools.as_ref();
        match tools::call::<Value>(tools, "apmas_pm_instruct", json!(request)).await {
            // It was told something about this report before, in other words: those stand.
            Err(error) if error.is_conflict() => {
                debug!("{to} was told before: {error}");
                Ok(())
            }
            other => other.map(drop),
        }
    }

    /// A unit of the task's plan, if there is one of that name.
    pub(super) async fn unit(&self, id: &str) -> Result<Option<WorkUnitView>, AgentError> {
        if id.is_empty() || id.chars().count() > MAX_UNIT_CHARS {
            return Ok(None);
        }
        let arguments = json!({ "task_id": self.task.id, "work_unit_id": id });
        match tools::call(self.work.tools.as_ref(), "db.work_unit.get", arguments).await {
            Ok(unit) => Ok(Some(unit)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A unit of the component that the report is about, such as `impl`.
    pub(super) async fn unit_of(&self, prefix: &str) -> Result<Option<WorkUnitView>, AgentError> {
        match &self.component {
            Some(component) => self.unit(&format!("{prefix}:{component}")).await,
            None => Ok(None),
        }
    }

    /// Approves a unit, with notes for the agents that continue from it.
    pub(super) async fn approve(
        &self,
        unit: &str,
        notes: Option<String>,
    ) -> Result<(), AgentError> {
        self.route(RouteWork { notes: notes.map(short_notes), ..self.routing(unit, Approve) }).await
    }

    /// Sends a unit back with feedback; the orchestrator instructs the agent that submitted it.
    pub(super) async fn send_back_unit(
        &self,
        unit: &str,
        review: &ReviewFeedback,
    ) -> Result<(), AgentError> {
        let feedback = Some(json!(review));
        self.route(RouteWork { feedback, ..self.routing(unit, Revision) }).await
    }

    /// Lets the unit go on that the message names, if it is blocked.
    pub(super) async fn resume_unit(&self) -> Result<(), AgentError> {
        let Some(id) = &self.work_unit else { return Ok(()) };
        match self.unit(id).await? {
            Some(unit) if unit.status == Status::Blocked => {
                self.route(self.routing(id, Resume)).await
            }
            Some(_) | None => Ok(()),
        }
    }

    fn routing(&self, unit: &str, decision: Decision) -> RouteWork {
        let (task_id, work_unit_id) = (self.task.id, unit.to_owned());
        RouteWork { task_id, work_unit_id, decision, feedback: None, notes: None }
    }

    async fn route(&self, request: RouteWork) -> Result<(), AgentError> {
        let tools = self.work.tools.as_ref();
        let _: Value = tools::call(tools, "apmas_route_work", json!(request)).await?;
        Ok(())
    }

    /// Accepts the unit of whoever looked at the component, if it was handed in; says so.
    pub(super) async fn close(
        &self,
        prefix: &str,
        notes: Option<String>,
    ) -> Result<String, AgentError> {
        let unit = self.unit_of(prefix).await?;
        let Some(unit) = unit.filter(|unit| unit.status == Status::Submitted) else {
            return Ok(String::new());
        };
        self.approve(&unit.work_unit_id, notes).await?;
        Ok(format!("; {} is closed", unit.work_unit_id))
    }

    /// Who mends what somebody else found; nobody where nobody else has spoken yet.
    pub(super) async fn owner(&mut self, what: &str) -> Result<Option<String>, AgentError> {
        let mut roles: Vec<String> = vec![];
        for said in &self.said {
            let sender = said["sender"].as_str().unwrap_or_default();
            let looks = LOOKERS.iter().any(|role| sender.starts_with(role));
            let is_known = roles.iter().any(|role| role == sender);
            if !sender.is_empty() && sender != "pm" && sender != self.from && !looks && !is_known {
                roles.push(sender.to_owned());
            }
        }
        if roles.is_empty() {
            return Ok(None);
        }
        let routed = self.work.think(&RouteAmbiguity { work: what.to_owned(), roles }).await?;
        Ok(Some(routed.role))
    }
}

fn short_notes(mut notes: String) -> String {
    notes.truncate(notes.floor_char_boundary(MAX_NOTES_BYTES));
    notes
}
