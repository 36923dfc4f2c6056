//! The processing state of a report and the actions on it.

use cynode_domain::agent::InstructionKind::{self, Continue};
use cynode_domain::ids::MessageId;
use cynode_domain::report::{MAX_TEXT_BYTES, ReviewFeedback};
use cynode_domain::status::WorkUnitStatus as Status;
use cynode_domain::text::truncate_bytes;
use cynode_wire::apmas::{InstructAgent, MessageQuery};
use cynode_wire::handoff::{AgentReportHandoff, Handoff, TaskFacts};
use cynode_wire::tool_calls::{DbMessageList, DbWorkUnitGet};
use cynode_wire::work::Decision::{self, Approve, Resume, Revision};
use cynode_wire::work::{MAX_WORK_UNIT_ID_CHARS, RouteWork, WorkUnitView};
use serde_json::{Value, json};
use tracing::debug;

use crate::HandoffAgentError;
use crate::brain::decisions::RouteAmbiguity;
use crate::session::HandoffSession;
use crate::tools;

/// The preference whether tests must pass before work continues; default true.
const REQUIRE_TESTS: &str = "agents.project_manager.review.require_tests";
/// The number of messages of the task that are loaded, newest first.
const MESSAGE_LIMIT: u32 = 100;
/// Roles that check work and fix nothing.
const CHECKING_ROLES: [&str; 2] = ["reviewer", "tester"];

/// The processing state of a report.
pub(in crate::handoffs) struct ReportContext {
    pub(in crate::handoffs) work: HandoffSession,
    pub(super) task: TaskFacts,
    pub(super) from: String,
    pub(super) component: Option<String>,
    /// The work unit that the message names.
    pub(super) work_unit: Option<String>,
    pub(super) require_tests: bool,
    /// Why a person must decide.
    pub(in crate::handoffs) needs_person: Option<String>,
    report: MessageId,
    /// The messages of the task, newest first.
    messages: Vec<Value>,
}

impl ReportContext {
    /// Loads the state of a report; `None` if the handoff has no task.
    pub(in crate::handoffs) async fn load(
        work: HandoffSession,
        handoff: &Handoff<AgentReportHandoff>,
    ) -> Result<Option<Self>, HandoffAgentError> {
        let Some(task) = handoff.context.task.clone() else { return Ok(None) };
        let body = &handoff.body;
        let preferred = handoff.context.preferences.effective.get(REQUIRE_TESTS);
        let query = MessageQuery { limit: Some(MESSAGE_LIMIT), ..MessageQuery::default() };
        let call = DbMessageList { task_id: Some(task.id), project_id: None, query };
        let mut page: Value = tools::call_tool(work.tools.as_ref(), &call).await?;
        let message = page["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
        Ok(Some(Self {
            work,
            task,
            from: body.from.clone(),
            component: body.component.clone(),
            work_unit: body.work_unit.clone(),
            require_tests: preferred.and_then(Value::as_bool).unwrap_or(true),
            needs_person: None,
            report: body.report_id,
            messages: message,
        }))
    }

    /// The kind of the instruction already sent for this report.
    pub(super) fn previous_instruction(&self) -> Option<InstructionKind> {
        let id = json!(self.report);
        let is_told = |message: &&Value| {
            message["kind"] == "instruction" && message["payload"]["report_id"] == id
        };
        let told = self.messages.iter().find(is_told)?;
        Some(told["type"].as_str().and_then(|kind| kind.parse().ok()).unwrap_or(Continue))
    }

    /// Reports of these types about the same component, newest first.
    pub(super) fn component_reports<'a>(
        &'a self,
        types: &'a [&str],
    ) -> impl Iterator<Item = &'a Value> {
        self.messages.iter().filter(move |message| {
            let is_ours = self.component.is_none()
                || message["component"].is_null()
                || message["component"].as_str() == self.component.as_deref();
            message["kind"] != "instruction"
                && is_ours
                && types.iter().any(|word| message["type"] == *word)
        })
    }

    /// How often a role was instructed to revise this component.
    pub(super) fn revision_count(&self, role: &str) -> u32 {
        let component = json!(self.component);
        let is_round = |message: &&Value| {
            message["kind"] == "instruction"
                && message["type"] == InstructionKind::Revise.as_str()
                && message["recipient"] == role
                && message["payload"]["component"] == component
        };
        u32::try_from(self.messages.iter().filter(is_round).count()).unwrap_or(u32::MAX)
    }

    /// The newest test result; `None` if there is none since the last revision.
    pub(super) fn newest_test_result(&self) -> Option<bool> {
        let newest = self.component_reports(&["tests_passed", "tests_failed"]).next()?;
        let is_revision = |message: &&Value| {
            message["kind"] == "instruction" && message["type"] == InstructionKind::Revise.as_str()
        };
        let revised = self.messages.iter().find(is_revision);
        let is_stale = revised
            .is_some_and(|revised| revised["created_at"].as_str() > newest["created_at"].as_str());
        (!is_stale).then(|| newest["type"] == "tests_passed")
    }

    /// Sends an instruction about the report to a role.
    pub(super) async fn instruct(
        &self,
        to: &str,
        kind: InstructionKind,
        words: &str,
        mut context: Value,
    ) -> Result<(), HandoffAgentError> {
        context["report_id"] = json!(self.report);
        context["component"] = json!(self.component);
        let Ok(to_agent) = to.parse() else {
            debug!(role = to, "instruction skipped: unknown role");
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
        match tools::call_tool::<_, Value>(tools, &request).await {
            // The role already has another instruction for this report, which stays in force.
            Err(error) if error.is_conflict() => {
                debug!(role = to, %error, "instruction already sent");
                Ok(())
            }
            other => other.map(drop),
        }
    }

    /// Loads a unit of the task's plan, if it exists.
    pub(super) async fn load_unit(
        &self,
        id: &str,
    ) -> Result<Option<WorkUnitView>, HandoffAgentError> {
        if id.is_empty() || id.chars().count() > MAX_WORK_UNIT_ID_CHARS {
            return Ok(None);
        }
        let call = DbWorkUnitGet { task_id: self.task.id, work_unit_id: id.to_owned() };
        match tools::call_tool(self.work.tools.as_ref(), &call).await {
            Ok(unit) => Ok(Some(unit)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Loads a unit of the report's component by prefix, such as `impl`.
    pub(super) async fn load_component_unit(
        &self,
        prefix: &str,
    ) -> Result<Option<WorkUnitView>, HandoffAgentError> {
        match &self.component {
            Some(component) => self.load_unit(&format!("{prefix}:{component}")).await,
            None => Ok(None),
        }
    }

    /// Approves a unit, with notes for the agents that continue from it.
    pub(super) async fn approve(
        &self,
        unit: &str,
        notes: Option<String>,
    ) -> Result<(), HandoffAgentError> {
        self.route(RouteWork {
            notes: notes.map(|notes| truncate_bytes(&notes, MAX_TEXT_BYTES).to_owned()),
            ..self.route_request(unit, Approve)
        })
        .await
    }

    /// Sends a unit back with feedback; the orchestrator instructs the agent that submitted it.
    pub(super) async fn send_back_unit(
        &self,
        unit: &str,
        review: &ReviewFeedback,
    ) -> Result<(), HandoffAgentError> {
        let feedback = Some(json!(review));
        self.route(RouteWork { feedback, ..self.route_request(unit, Revision) }).await
    }

    /// Resumes the unit that the message names, if it is blocked.
    pub(super) async fn resume_unit(&self) -> Result<(), HandoffAgentError> {
        let Some(id) = &self.work_unit else { return Ok(()) };
        match self.load_unit(id).await? {
            Some(unit) if unit.status == Status::Blocked => {
                self.route(self.route_request(id, Resume)).await
            }
            Some(_) | None => Ok(()),
        }
    }

    fn route_request(&self, unit: &str, decision: Decision) -> RouteWork {
        let (task_id, work_unit_id) = (self.task.id, unit.to_owned());
        RouteWork { task_id, work_unit_id, decision, feedback: None, notes: None }
    }

    async fn route(&self, request: RouteWork) -> Result<(), HandoffAgentError> {
        let tools = self.work.tools.as_ref();
        let _: Value = tools::call_tool(tools, &request).await?;
        Ok(())
    }

    /// Approves the submitted unit of a reviewer or tester; returns a note for the summary.
    pub(super) async fn approve_submitted(
        &self,
        prefix: &str,
        notes: Option<String>,
    ) -> Result<String, HandoffAgentError> {
        let unit = self.load_component_unit(prefix).await?;
        let Some(unit) = unit.filter(|unit| unit.status == Status::Submitted) else {
            return Ok(String::new());
        };
        self.approve(&unit.work_unit_id, notes).await?;
        Ok(format!("; {} is closed", unit.work_unit_id))
    }

    /// Chooses the role that fixes a finding of another role; `None` if no other role has reported yet.
    pub(super) async fn choose_owner(
        &mut self,
        what: &str,
    ) -> Result<Option<String>, HandoffAgentError> {
        let mut roles: Vec<String> = vec![];
        for message in &self.messages {
            let sender = message["sender"].as_str().unwrap_or_default();
            let looks = CHECKING_ROLES.iter().any(|role| sender.starts_with(role));
            let is_known = roles.iter().any(|role| role == sender);
            if !sender.is_empty() && sender != "pm" && sender != self.from && !looks && !is_known {
                roles.push(sender.to_owned());
            }
        }
        if roles.is_empty() {
            return Ok(None);
        }
        let routed = self.work.decide(&RouteAmbiguity { work: what.to_owned(), roles }).await?;
        Ok(Some(routed.role))
    }
}
