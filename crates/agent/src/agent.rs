//! The agent: one method per kind of handoff.

use std::sync::Arc;
use std::time::Duration;

use cynode_client::Client;
use cynode_domain::trace::{TraceEntry, TraceEventKind, TraceEvents, TraceField, TraceStop};
use cynode_llm::{Provider, ProviderEndpoint, ProviderKind, ProviderLimits, connect};
use cynode_runtime::trace_recorder::TraceRecorder;
use cynode_wire::handoff::{
    ActedAnswer, AgentReportHandoff, AgentRole, AnalystAnswer, ChatEvent, ChatHandoff,
    ClassifyAnswer, ClassifyHandoff, ContinueAnswer, ContinueRunHandoff, FailureKind, Handoff,
    HandoffContext, HandoffKind, PlaceAnswer, PlaceHandoff, PlanAnswer, PlanHandoff,
    PlanWorkAnswer, PlanWorkHandoff, ReplanAnswer, ReplanHandoff, ScheduledRunHandoff,
    TracedAnswer, VerifyAnswer, VerifyHandoff,
};
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use tracing::warn;

use crate::brain::BrainOptions;
use crate::context::Instructions;
use crate::session::HandoffSession;
use crate::{HandoffAgentError, handoffs};

/// The path of the orchestrator's egress, which speaks OpenAI's API.
const EGRESS: &str = "/v1/egress";

/// The events of an answer; the last one is `done` or `failed`. Dropping the stream cancels the work.
pub type ChatEventStream = BoxStream<'static, ChatEvent>;

#[derive(Debug, Clone)]
pub struct HandoffAgentOptions {
    /// Fixed for the lifetime of the agent.
    pub role: AgentRole,
    pub instructions: Instructions,
    /// A client without a token: each handoff carries its own.
    pub orchestrator: Client,
    pub brain: BrainOptions,
}

/// Answers handoffs. Every handoff has a deadline: decisions that no model has made shortly before it are made by
/// rule.
pub struct HandoffAgent {
    options: HandoffAgentOptions,
    /// The client of egress; each handoff carries its own token.
    egress: Option<Arc<dyn Provider>>,
}

impl HandoffAgent {
    pub fn new(options: HandoffAgentOptions) -> Self {
        let base = format!("{}{EGRESS}", options.orchestrator.base_url());
        let BrainOptions { silence_timeout: silence, max_request_duration: longest, .. } =
            options.brain;
        // The orchestrator enforces the timeouts of providers and sends keep-alives meanwhile.
        let limits = ProviderLimits {
            begin: silence,
            idle_timeout: silence,
            finish: longest,
            max_stream_duration: longest,
            ..ProviderLimits::default()
        };
        let egress = connect(&ProviderEndpoint {
            limits,
            ..ProviderEndpoint::new(ProviderKind::OpenAi, base)
        });
        let egress = egress.map_err(|error| warn!(%error, "egress client not available")).ok();
        Self { options, egress }
    }

    pub fn role(&self) -> AgentRole {
        self.options.role
    }

    /// Answers a chat turn.
    pub fn chat(&self, handoff: Handoff<ChatHandoff>, timeout: Duration) -> ChatEventStream {
        if let Err(fault) = self.require_role(AgentRole::ProjectManager, HandoffKind::Chat) {
            let message = fault.to_string();
            let (kind, decisions) = (FailureKind::Other, vec![]);
            let trace = TraceEvents::default();
            let failed = ChatEvent::Failed { message, may_retry: false, kind, decisions, trace };
            return stream::iter([failed]).boxed();
        }
        let work = self.start_session(&handoff.context, timeout);
        let trace = work.trace.clone();
        let events =
            crate::chat::answer_turn(work, self.options.brain.clone(), handoff.body.messages);
        events.map(move |event| event.with_trace(|| trace.take())).boxed()
    }

    /// Plans the steps of a request in prose.
    pub async fn plan(
        &self,
        handoff: &Handoff<PlanHandoff>,
        timeout: Duration,
    ) -> Result<TracedAnswer<PlanAnswer>, HandoffAgentError> {
        self.require_role(AgentRole::ProjectManager, HandoffKind::Plan)?;
        let work = self.start_session(&handoff.context, timeout);
        let trace = work.trace.clone();
        run_traced(trace, "plan", handoffs::plan(work, handoff)).await
    }

    /// Plans another command for a rejected step.
    pub async fn replan(
        &self,
        handoff: &Handoff<ReplanHandoff>,
        timeout: Duration,
    ) -> Result<TracedAnswer<ReplanAnswer>, HandoffAgentError> {
        self.require_role(AgentRole::ProjectManager, HandoffKind::Replan)?;
        let work = self.start_session(&handoff.context, timeout);
        let trace = work.trace.clone();
        run_traced(trace, "replan", handoffs::replan(work, handoff)).await
    }

    /// Requests an analyst for criteria in prose.
    pub async fn verify(
        &self,
        handoff: &Handoff<VerifyHandoff>,
        timeout: Duration,
    ) -> Result<TracedAnswer<VerifyAnswer>, HandoffAgentError> {
        self.require_role(AgentRole::ProjectManager, HandoffKind::Verify)?;
        let work = self.start_session(&handoff.context, timeout);
        let trace = work.trace.clone();
        run_traced(trace, "verify", handoffs::verify(work, handoff)).await
    }

    /// Judges criteria in prose and creates findings; for analysts.
    pub async fn analyse(
        &self,
        handoff: &Handoff<VerifyHandoff>,
        timeout: Duration,
    ) -> Result<TracedAnswer<AnalystAnswer>, HandoffAgentError> {
        self.require_role(AgentRole::ProjectAnalyst, HandoffKind::Analyse)?;
        let work = self.start_session(&handoff.context, timeout);
        let trace = work.trace.clone();
        run_traced(trace, "analyse", handoffs::analyse(work, handoff)).await
    }

    /// Creates the tasks of a schedule that is due.
    pub async fn scheduled_run(
        &self,
        handoff: &Handoff<ScheduledRunHandoff>,
        timeout: Duration,
    ) -> Result<TracedAnswer<ActedAnswer>, HandoffAgentError> {
        self.require_role(AgentRole::ProjectManager, HandoffKind::ScheduledRun)?;
        let work = self.start_session(&handoff.context, timeout);
        let trace = work.trace.clone();
        run_traced(trace, "scheduled_run", handoffs::scheduled_run(work, handoff)).await
    }

    /// Acts on an agent's report.
    pub async fn agent_report(
        &self,
        handoff: &Handoff<AgentReportHandoff>,
        timeout: Duration,
    ) -> Result<TracedAnswer<ActedAnswer>, HandoffAgentError> {
        self.require_role(AgentRole::ProjectManager, HandoffKind::AgentReport)?;
        let work = self.start_session(&handoff.context, timeout);
        let trace = work.trace.clone();
        run_traced(trace, "agent_report", handoffs::agent_report(work, handoff)).await
    }

    /// Decides how a blocked run continues.
    pub async fn continue_run(
        &self,
        handoff: &Handoff<ContinueRunHandoff>,
        timeout: Duration,
    ) -> Result<TracedAnswer<ContinueAnswer>, HandoffAgentError> {
        self.require_role(AgentRole::ProjectManager, HandoffKind::ContinueRun)?;
        let work = self.start_session(&handoff.context, timeout);
        let trace = work.trace.clone();
        run_traced(trace, "continue_run", handoffs::continue_run(work, handoff)).await
    }

    /// Chooses the worker node of a task.
    pub async fn place(
        &self,
        handoff: &Handoff<PlaceHandoff>,
        timeout: Duration,
    ) -> Result<TracedAnswer<PlaceAnswer>, HandoffAgentError> {
        self.require_role(AgentRole::ProjectManager, HandoffKind::Place)?;
        let work = self.start_session(&handoff.context, timeout);
        let trace = work.trace.clone();
        run_traced(trace, "place", handoffs::place(work, handoff)).await
    }

    /// Decides the kind of submitted work.
    pub async fn classify(
        &self,
        handoff: &Handoff<ClassifyHandoff>,
        timeout: Duration,
    ) -> Result<TracedAnswer<ClassifyAnswer>, HandoffAgentError> {
        self.require_role(AgentRole::ProjectManager, HandoffKind::Classify)?;
        let work = self.start_session(&handoff.context, timeout);
        let trace = work.trace.clone();
        run_traced(trace, "classify", handoffs::classify(work, handoff)).await
    }

    /// Decides the scope and the components of submitted work.
    pub async fn plan_work(
        &self,
        handoff: &Handoff<PlanWorkHandoff>,
        timeout: Duration,
    ) -> Result<TracedAnswer<PlanWorkAnswer>, HandoffAgentError> {
        self.require_role(AgentRole::ProjectManager, HandoffKind::PlanWork)?;
        let work = self.start_session(&handoff.context, timeout);
        let trace = work.trace.clone();
        run_traced(trace, "plan_work", handoffs::plan_work(work, handoff)).await
    }

    fn start_session(&self, context: &HandoffContext, timeout: Duration) -> HandoffSession {
        HandoffSession::new(&self.options, self.egress.as_ref(), context, timeout)
    }

    fn require_role(&self, role: AgentRole, kind: HandoffKind) -> Result<(), HandoffAgentError> {
        if self.options.role == role || cynode_fault::fault!("PMA-10") {
            return Ok(());
        }
        Err(HandoffAgentError::WrongRole { is: self.options.role.as_str(), kind: kind.as_str() })
    }
}

/// Records the start and the end of a handoff around its work. The events of failed work are in the log only.
async fn run_traced<A>(
    trace: TraceRecorder,
    kind: &'static str,
    work: impl Future<Output = Result<A, HandoffAgentError>>,
) -> Result<TracedAnswer<A>, HandoffAgentError> {
    trace.record(started_entry(kind));
    let answer = work.await;
    let stop = if answer.is_ok() { TraceStop::GoalMet } else { TraceStop::Failed };
    trace.record(stopped_entry(kind, stop));
    Ok(TracedAnswer { answer: answer?, trace: trace.take() })
}

fn started_entry(kind: &str) -> TraceEntry {
    TraceEntry::new(TraceEventKind::ExecutionStarted).with(TraceField::Handoff, kind)
}

fn stopped_entry(kind: &str, stop: TraceStop) -> TraceEntry {
    TraceEntry::execution_stopped(stop).with(TraceField::Handoff, kind)
}
