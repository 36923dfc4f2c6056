//! The execution state of one handoff: tools, model, context and decisions.

use std::sync::Arc;
use std::time::Duration;

use cynode_client::Client;
use cynode_domain::ids::TraceId;
use cynode_domain::trace::TraceActor;
use cynode_llm::Provider;
use cynode_llm_wire::openai::ChatMessage;
use cynode_runtime::trace_recorder::TraceRecorder;
use cynode_wire::handoff::{AgentRole, DecisionRecord, HandoffContext};
use secrecy::SecretString;
use tokio::time::Instant;
use tracing::{debug, warn};

use crate::HandoffAgentError;
use crate::agent::HandoffAgentOptions;
use crate::brain::{Brain, BrainDecision, ChatModel, EgressModel, RequestPart};
use crate::cassette;
use crate::context::{compose, compose_for_decision, excerpts_message, task_without_request};
use crate::tools::{RecordedTools, ToolClient};

/// The divisor of the time that is reserved for acting on decisions.
const ACTING_TIME_DIVISOR: u32 = 8;

/// The execution state of one handoff.
pub(crate) struct HandoffSession {
    /// Tools with the permissions of the handoff.
    pub(crate) tools: Arc<dyn ToolClient>,
    /// `None` without access to models.
    pub(crate) model: Option<Arc<dyn ChatModel>>,
    /// The system message of chat requests.
    pub(crate) system: String,
    /// What chat requests quote of the project, before the newest message.
    pub(crate) excerpts: Option<ChatMessage>,
    pub(crate) brain: Brain,
    /// What happened so far; returned with the answer.
    pub(crate) trace: TraceRecorder,
    /// The decisions so far.
    pub(crate) decisions: Vec<DecisionRecord>,
}

impl HandoffSession {
    /// Prepares a handoff whose caller waits for `within`.
    pub(crate) fn new(
        options: &HandoffAgentOptions,
        egress: Option<&Arc<dyn Provider>>,
        context: &HandoffContext,
        timeout: Duration,
    ) -> Self {
        let token = SecretString::from(context.agent_token.reveal());
        let tools: Client = options.orchestrator.clone().with_token(token.clone());
        let model = egress.map(|egress| {
            Arc::new(EgressModel::new(Arc::clone(egress), token)) as Arc<dyn ChatModel>
        });
        let model = cassette::wrap_model(model, &options.brain.cassette);
        let composed = compose(options.role, &options.instructions, context);
        debug!(context.tokens = composed.tokens(), "context composed");
        for part in composed.parts.iter().filter(|part| part.is_cut) {
            warn!(context.part = part.name, "context part truncated");
        }
        let trace = context.trace_id.parse().unwrap_or_else(|_| TraceId::generate());
        let trace =
            TraceRecorder::new(trace, trace_actor(options.role)).in_profile(context.profile_id);
        let tools = Arc::new(RecordedTools::new(Arc::new(tools), trace.clone()));
        let work = Self::from_parts(tools, model, composed.system, options);
        let brief = compose_for_decision(options.role, &options.instructions, context);
        let task = context.task.as_ref().zip(task_without_request(context));
        let task = task.map(|(task, (whole, short))| RequestPart {
            request: task.prompt.trim().to_owned(),
            whole,
            short,
        });
        let brain = Brain::new(work.model.clone(), options.brain.clone(), brief.system);
        // The rest of the time is for acting on the decisions.
        let brain = brain
            .with_task_part(task)
            .with_deadline(Instant::now() + timeout - timeout / ACTING_TIME_DIVISOR);
        Self { brain, trace, excerpts: excerpts_message(&context.excerpts), ..work }
    }

    /// Creates the state from its parts, without a deadline.
    pub(crate) fn from_parts(
        tools: Arc<dyn ToolClient>,
        model: Option<Arc<dyn ChatModel>>,
        system: String,
        options: &HandoffAgentOptions,
    ) -> Self {
        let brain = Brain::new(model.clone(), options.brain.clone(), system.clone());
        let trace = TraceRecorder::new(TraceId::generate(), trace_actor(options.role));
        Self { tools, model, system, excerpts: None, brain, trace, decisions: vec![] }
    }

    /// Makes a decision and appends its record.
    pub(crate) async fn decide<D: BrainDecision>(
        &mut self,
        question: &D,
    ) -> Result<D::Answer, HandoffAgentError> {
        let decided = self.brain.decide(question).await?;
        self.decisions.push(decided.record);
        Ok(decided.answer)
    }
}

fn trace_actor(role: AgentRole) -> TraceActor {
    match role {
        AgentRole::ProjectManager => TraceActor::ProjectManager,
        AgentRole::ProjectAnalyst => TraceActor::ProjectAnalyst,
    }
}
