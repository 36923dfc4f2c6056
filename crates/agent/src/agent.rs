//! The agent of a process: one method for each kind of handoff.

use std::sync::Arc;
use std::time::Duration;

use cynode_client::Client;
use cynode_llm::{Endpoint, Limits, Provider, ProviderKind, connect};
use cynode_wire::handoff::{
    ActedAnswer, AgentReportHandoff, AgentRole, AnalystAnswer, ChatEvent, ChatHandoff,
    ContinueAnswer, ContinueRunHandoff, DecideAnswer, DecideHandoff, FailureKind, Handoff,
    HandoffContext, HandoffKind, PlaceAnswer, PlaceHandoff, PlanAnswer, PlanHandoff, ReplanAnswer,
    ReplanHandoff, ScheduledRunHandoff, VerifyAnswer, VerifyHandoff,
};
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use tracing::warn;

use crate::brain::BrainOptions;
use crate::context::Instructions;
use crate::work::Work;
use crate::{AgentError, handoffs};

/// Where the orchestrator lets models be asked, as OpenAI's API does.
const EGRESS: &str = "/v1/egress";

/// What happens while an answer is made; the last event is `done` or `failed`. Dropping it ends
/// the work.
pub type ChatEvents = BoxStream<'static, ChatEvent>;

/// What an agent is made of.
#[derive(Debug, Clone)]
pub struct AgentOptions {
    /// The role it has for its life.
    pub role: AgentRole,
    /// The instructions of that role.
    pub instructions: Instructions,
    /// The orchestrator, without an identity: each handoff brings its own.
    pub orchestrator: Client,
    /// How it thinks.
    pub brain: BrainOptions,
}

/// The agent of a process. Each piece of work says how long somebody waits for its answer: what a model
/// has not decided shortly before that is decided by rule.
pub struct Agent {
    options: AgentOptions,
    /// The way to models; each handoff brings its own right to use it.
    egress: Option<Arc<dyn Provider>>,
}

impl Agent {
    /// An agent that waits for work.
    pub fn new(options: AgentOptions) -> Self {
        let base = format!("{}{EGRESS}", options.orchestrator.base_url());
        let BrainOptions { silence, longest, .. } = options.brain;
        // How long a provider may take is decided by the orchestrator, which shows meanwhile that it lives.
        let limits = Limits {
            begin: silence,
            go_on: silence,
            finish: longest,
            longest,
            ..Limits::default()
        };
        let egress = connect(&Endpoint { limits, ..Endpoint::new(ProviderKind::OpenAi, base) });
        let egress = egress.map_err(|fault| warn!("no model can be asked: {fault}")).ok();
        Self { options, egress }
    }

    /// The role it has.
    pub fn role(&self) -> AgentRole {
        self.options.role
    }

    /// Answers a turn of a conversation.
    pub fn chat(&self, handoff: Handoff<ChatHandoff>, within: Duration) -> ChatEvents {
        if let Err(fault) = self.must_be(AgentRole::ProjectManager, HandoffKind::Chat) {
            let message = fault.to_string();
            let (kind, decisions) = (FailureKind::Other, vec![]);
            let failed = ChatEvent::Failed { message, may_retry: false, kind, decisions };
            return stream::iter([failed]).boxed();
        }
        let work = self.work(&handoff.context, within);
        crate::chat::answer(work, self.options.brain.clone(), handoff.body.messages)
    }

    /// Makes steps of a request in prose.
    pub async fn plan(
        &self,
        handoff: &Handoff<PlanHandoff>,
        within: Duration,
    ) -> Result<PlanAnswer, AgentError> {
        self.must_be(AgentRole::ProjectManager, HandoffKind::Plan)?;
        handoffs::plan(self.work(&handoff.context, within), handoff).await
    }

    /// Plans a step anew whose result was not accepted.
    pub async fn replan(
        &self,
        handoff: &Handoff<ReplanHandoff>,
        within: Duration,
    ) -> Result<ReplanAnswer, AgentError> {
        self.must_be(AgentRole::ProjectManager, HandoffKind::Replan)?;
        handoffs::replan(self.work(&handoff.context, within), handoff).await
    }

    /// Has criteria in prose judged.
    pub async fn verify(
        &self,
        handoff: &Handoff<VerifyHandoff>,
        within: Duration,
    ) -> Result<VerifyAnswer, AgentError> {
        self.must_be(AgentRole::ProjectManager, HandoffKind::Verify)?;
        handoffs::verify(self.work(&handoff.context, within), handoff).await
    }

    /// Judges criteria in prose and writes findings; for analysts.
    pub async fn analyse(
        &self,
        handoff: &Handoff<VerifyHandoff>,
        within: Duration,
    ) -> Result<AnalystAnswer, AgentError> {
        self.must_be(AgentRole::ProjectAnalyst, HandoffKind::Analyse)?;
        handoffs::analyse(self.work(&handoff.context, within), handoff).await
    }

    /// Does what a schedule says.
    pub async fn scheduled_run(
        &self,
        handoff: &Handoff<ScheduledRunHandoff>,
        within: Duration,
    ) -> Result<ActedAnswer, AgentError> {
        self.must_be(AgentRole::ProjectManager, HandoffKind::ScheduledRun)?;
        handoffs::scheduled_run(self.work(&handoff.context, within), handoff).await
    }

    /// Does what follows from an agent's report.
    pub async fn agent_report(
        &self,
        handoff: &Handoff<AgentReportHandoff>,
        within: Duration,
    ) -> Result<ActedAnswer, AgentError> {
        self.must_be(AgentRole::ProjectManager, HandoffKind::AgentReport)?;
        handoffs::agent_report(self.work(&handoff.context, within), handoff).await
    }

    /// Says how a run goes on.
    pub async fn continue_run(
        &self,
        handoff: &Handoff<ContinueRunHandoff>,
        within: Duration,
    ) -> Result<ContinueAnswer, AgentError> {
        self.must_be(AgentRole::ProjectManager, HandoffKind::ContinueRun)?;
        handoffs::continue_run(self.work(&handoff.context, within), handoff).await
    }

    /// Chooses.
    pub async fn decide(
        &self,
        handoff: &Handoff<DecideHandoff>,
        within: Duration,
    ) -> Result<DecideAnswer, AgentError> {
        self.must_be(AgentRole::ProjectManager, HandoffKind::Decide)?;
        handoffs::decide(self.work(&handoff.context, within), handoff).await
    }

    /// Chooses the node that the work of a task runs on.
    pub async fn place(
        &self,
        handoff: &Handoff<PlaceHandoff>,
        within: Duration,
    ) -> Result<PlaceAnswer, AgentError> {
        self.must_be(AgentRole::ProjectManager, HandoffKind::Place)?;
        handoffs::place(self.work(&handoff.context, within), handoff).await
    }

    fn work(&self, context: &HandoffContext, within: Duration) -> Work {
        Work::new(&self.options, self.egress.as_ref(), context, within)
    }

    fn must_be(&self, role: AgentRole, kind: HandoffKind) -> Result<(), AgentError> {
        if self.options.role == role {
            return Ok(());
        }
        Err(AgentError::WrongRole { is: self.options.role.as_str(), kind: kind.as_str() })
    }
}
