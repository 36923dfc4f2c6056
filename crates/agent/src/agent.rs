//! The agent: one method per kind of handoff.

use std::sync::Arc;
use std::time::Duration;

use cynode_client::Client;
use cynode_llm::{Provider, ProviderEndpoint, ProviderKind, ProviderLimits, connect};
use cynode_wire::handoff::{
    ActedAnswer, AgentReportHandoff, AgentRole, AnalystAnswer, ChatEvent, ChatHandoff,
    ClassifyAnswer, ClassifyHandoff, ContinueAnswer, ContinueRunHandoff, DecideAnswer,
    DecideHandoff, FailureKind, Handoff, HandoffContext, HandoffKind, PlaceAnswer, PlaceHandoff,
    PlanAnswer, PlanHandoff, PlanWorkAnswer, PlanWorkHandoff, ReplanAnswer, ReplanHandoff,
    ScheduledRunHandoff, VerifyAnswer, VerifyHandoff,
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
            let failed = ChatEvent::Failed { message, may_retry: false, kind, decisions };
            return stream::iter([failed]).boxed();
        }
        let work = self.start_session(&handoff.context, timeout);
        crate::chat::answer_turn(work, self.options.brain.clone(), handoff.body.messages)
    }

    /// Plans the steps of a request in prose.
    pub async fn plan(
        &self,
        handoff: &Handoff<PlanHandoff>,
        timeout: Duration,
    ) -> Result<PlanAnswer, HandoffAgentError> {
        self.require_role(AgentRole::ProjectManager, HandoffKind::Plan)?;
        handoffs::plan(self.start_session(&handoff.context, timeout), handoff).await
    }

    /// Plans another command for a rejected step.
    pub async fn replan(
        &self,
        handoff: &Handoff<ReplanHandoff>,
        timeout: Duration,
    ) -> Result<ReplanAnswer, HandoffAgentError> {
        self.require_role(AgentRole::ProjectManager, HandoffKind::Replan)?;
        handoffs::replan(self.start_session(&handoff.context, timeout), handoff).await
    }

    /// Requests an analyst for criteria in prose.
    pub async fn verify(
        &self,
        handoff: &Handoff<VerifyHandoff>,
        timeout: Duration,
    ) -> Result<VerifyAnswer, HandoffAgentError> {
        self.require_role(AgentRole::ProjectManager, HandoffKind::Verify)?;
        handoffs::verify(self.start_session(&handoff.context, timeout), handoff).await
    }

    /// Judges criteria in prose and creates findings; for analysts.
    pub async fn analyse(
        &self,
        handoff: &Handoff<VerifyHandoff>,
        timeout: Duration,
    ) -> Result<AnalystAnswer, HandoffAgentError> {
        self.require_role(AgentRole::ProjectAnalyst, HandoffKind::Analyse)?;
        handoffs::analyse(self.start_session(&handoff.context, timeout), handoff).await
    }

    /// Creates the tasks of a schedule that is due.
    pub async fn scheduled_run(
        &self,
        handoff: &Handoff<ScheduledRunHandoff>,
        timeout: Duration,
    ) -> Result<ActedAnswer, HandoffAgentError> {
        self.require_role(AgentRole::ProjectManager, HandoffKind::ScheduledRun)?;
        handoffs::scheduled_run(self.start_session(&handoff.context, timeout), handoff).await
    }

    /// Acts on an agent's report.
    pub async fn agent_report(
        &self,
        handoff: &Handoff<AgentReportHandoff>,
        timeout: Duration,
    ) -> Result<ActedAnswer, HandoffAgentError> {
        self.require_role(AgentRole::ProjectManager, HandoffKind::AgentReport)?;
        handoffs::agent_report(self.start_session(&handoff.context, timeout), handoff).await
    }

    /// Decides how a blocked run continues.
    pub async fn continue_run(
        &self,
        handoff: &Handoff<ContinueRunHandoff>,
        timeout: Duration,
    ) -> Result<ContinueAnswer, HandoffAgentError> {
        self.require_role(AgentRole::ProjectManager, HandoffKind::ContinueRun)?;
        handoffs::continue_run(self.start_session(&handoff.context, timeout), handoff).await
    }

    /// Chooses one of several options.
    pub async fn decide(
        &self,
        handoff: &Handoff<DecideHandoff>,
        timeout: Duration,
    ) -> Result<DecideAnswer, HandoffAgentError> {
        self.require_role(AgentRole::ProjectManager, HandoffKind::Decide)?;
        handoffs::decide(self.start_session(&handoff.context, timeout), handoff).await
    }

    /// Chooses the worker node of a task.
    pub async fn place(
        &self,
        handoff: &Handoff<PlaceHandoff>,
        timeout: Duration,
    ) -> Result<PlaceAnswer, HandoffAgentError> {
        self.require_role(AgentRole::ProjectManager, HandoffKind::Place)?;
        handoffs::place(self.start_session(&handoff.context, timeout), handoff).await
    }

    /// Decides the kind of submitted work.
    pub async fn classify(
        &self,
        handoff: &Handoff<ClassifyHandoff>,
        timeout: Duration,
    ) -> Result<ClassifyAnswer, HandoffAgentError> {
        self.require_role(AgentRole::ProjectManager, HandoffKind::Classify)?;
        handoffs::classify(self.start_session(&handoff.context, timeout), handoff).await
    }

    /// Decides the scope and the components of submitted work.
    pub async fn plan_work(
        &self,
        handoff: &Handoff<PlanWorkHandoff>,
        timeout: Duration,
    ) -> Result<PlanWorkAnswer, HandoffAgentError> {
        self.require_role(AgentRole::ProjectManager, HandoffKind::PlanWork)?;
        handoffs::plan_work(self.start_session(&handoff.context, timeout), handoff).await
    }

    fn start_session(&self, context: &HandoffContext, timeout: Duration) -> HandoffSession {
        HandoffSession::new(&self.options, self.egress.as_ref(), context, timeout)
    }

    fn require_role(&self, role: AgentRole, kind: HandoffKind) -> Result<(), HandoffAgentError> {
        if self.options.role == role {
            return Ok(());
        }
        Err(HandoffAgentError::WrongRole { is: self.options.role.as_str(), kind: kind.as_str() })
    }
}
