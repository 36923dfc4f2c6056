//! The agent of a process: one method for each kind of handoff.

use cynode_client::Client;
use cynode_wire::handoff::{
    ActedAnswer, AgentReportHandoff, AgentRole, AnalystAnswer, ChatEvent, ChatHandoff,
    ContinueAnswer, ContinueRunHandoff, ContinueWith, DecideAnswer, DecideHandoff, Handoff,
    HandoffKind, PlanAnswer, PlanHandoff, PlanOutcome, ScheduledRunHandoff, VerifyAnswer,
    VerifyHandoff, VerifyOutcome,
};
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};

use crate::AgentError;
use crate::brain::BrainOptions;
use crate::context::Instructions;

/// What happens while an answer is made; the last event is `done` or `failed`. Dropping it ends
/// the work.
pub type ChatEvents = BoxStream<'static, ChatEvent>;

/// What an agent is made of.
#[derive(Debug)]
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

/// The agent of a process.
#[derive(Debug)]
pub struct Agent {
    options: AgentOptions,
}

impl Agent {
    /// An agent that waits for work.
    pub fn new(options: AgentOptions) -> Self {
        Self { options }
    }

    /// The role it has.
    pub fn role(&self) -> AgentRole {
        self.options.role
    }

    /// Answers a turn of a conversation.
    pub fn chat(&self, handoff: Handoff<ChatHandoff>) -> ChatEvents {
        drop(handoff);
        let message = "chat is not built yet".to_owned();
        let failed = ChatEvent::Failed { message, may_retry: false, decisions: vec![] };
        stream::iter([failed]).boxed()
    }

    /// Makes steps of a request in prose.
    pub async fn plan(&self, handoff: &Handoff<PlanHandoff>) -> Result<PlanAnswer, AgentError> {
        self.must_be(AgentRole::ProjectManager, HandoffKind::Plan)?;
        let steps = vec![];
        let assumptions = vec![handoff.body.prompt.clone()];
        Ok(PlanAnswer { outcome: PlanOutcome::Planned { steps, assumptions }, decisions: vec![] })
    }

    /// Has criteria in prose judged.
    pub async fn verify(
        &self,
        handoff: &Handoff<VerifyHandoff>,
    ) -> Result<VerifyAnswer, AgentError> {
        self.must_be(AgentRole::ProjectManager, HandoffKind::Verify)?;
        let reason = format!("{} criteria in prose", handoff.body.criteria.len());
        Ok(VerifyAnswer { outcome: VerifyOutcome::Unchecked { reason }, decisions: vec![] })
    }

    /// Judges criteria in prose and writes findings; for analysts.
    pub async fn analyse(
        &self,
        handoff: &Handoff<VerifyHandoff>,
    ) -> Result<AnalystAnswer, AgentError> {
        self.must_be(AgentRole::ProjectAnalyst, HandoffKind::Analyse)?;
        let _ = handoff;
        let status = cynode_domain::finding::FindingStatus::NeedsClarification;
        Ok(AnalystAnswer { status, findings: vec![], decisions: vec![] })
    }

    /// Does what a schedule says.
    pub async fn scheduled_run(
        &self,
        handoff: &Handoff<ScheduledRunHandoff>,
    ) -> Result<ActedAnswer, AgentError> {
        self.must_be(AgentRole::ProjectManager, HandoffKind::ScheduledRun)?;
        let summary = handoff.body.schedule.clone();
        Ok(ActedAnswer { summary, tasks: vec![], decisions: vec![] })
    }

    /// Does what follows from an agent's report.
    pub async fn agent_report(
        &self,
        handoff: &Handoff<AgentReportHandoff>,
    ) -> Result<ActedAnswer, AgentError> {
        self.must_be(AgentRole::ProjectManager, HandoffKind::AgentReport)?;
        let summary = handoff.body.from.clone();
        Ok(ActedAnswer { summary, tasks: vec![], decisions: vec![] })
    }

    /// Says how a run goes on.
    pub async fn continue_run(
        &self,
        handoff: &Handoff<ContinueRunHandoff>,
    ) -> Result<ContinueAnswer, AgentError> {
        self.must_be(AgentRole::ProjectManager, HandoffKind::ContinueRun)?;
        let reason = handoff.body.situation.clone();
        Ok(ContinueAnswer { with: ContinueWith::AskPerson, reason, decisions: vec![] })
    }

    /// Chooses.
    pub async fn decide(
        &self,
        handoff: &Handoff<DecideHandoff>,
    ) -> Result<DecideAnswer, AgentError> {
        self.must_be(AgentRole::ProjectManager, HandoffKind::Decide)?;
        let choice = handoff.body.choices.first().map(|c| c.key.clone()).unwrap_or_default();
        let reason = "nothing speaks for another".to_owned();
        Ok(DecideAnswer { choice, reason, decisions: vec![] })
    }

    fn must_be(&self, role: AgentRole, kind: HandoffKind) -> Result<(), AgentError> {
        if self.options.role == role {
            return Ok(());
        }
        Err(AgentError::WrongRole { is: self.options.role.as_str(), kind: kind.as_str() })
    }
}
