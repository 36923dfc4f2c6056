//! One piece of work: its context, its rights, and what thinks about it.

use std::sync::Arc;
use std::time::Duration;

use cynode_client::Client;
use cynode_llm::Provider;
use cynode_wire::handoff::{DecisionRecord, HandoffContext};
use secrecy::SecretString;
use tokio::time::Instant;
use tracing::{debug, warn};

use crate::AgentError;
use crate::agent::AgentOptions;
use crate::brain::{Brain, Decision, EgressModel, Model, RequestPart};
use crate::cassette;
use crate::context::{compose, compose_for_decision, task_without_request};
use crate::tools::Tools;

/// Which part of its time is not spent on asking models.
const ACTING_PART: u32 = 8;

/// One piece of work.
pub(crate) struct Work {
    /// Tools, with the rights of the handoff.
    pub(crate) tools: Arc<dyn Tools>,
    /// Whom to ask; nobody where there is no way to models.
    pub(crate) model: Option<Arc<dyn Model>>,
    /// What every request to a model begins with.
    pub(crate) system: String,
    /// What decides.
    pub(crate) brain: Brain,
    /// What was decided so far.
    pub(crate) decisions: Vec<DecisionRecord>,
}

impl Work {
    /// The work that a handoff brings, of which somebody waits for the answer that long.
    pub(crate) fn new(
        options: &AgentOptions,
        egress: Option<&Arc<dyn Provider>>,
        context: &HandoffContext,
        within: Duration,
    ) -> Self {
        let token = SecretString::from(context.agent_token.reveal());
        let tools: Client = options.orchestrator.clone().with_token(token.clone());
        let model = egress
            .map(|egress| Arc::new(EgressModel::new(Arc::clone(egress), token)) as Arc<dyn Model>);
        let model = cassette::over(model, &options.brain.cassette);
        let composed = compose(options.role, &options.instructions, context);
        debug!(context.tokens = composed.tokens(), "a model is told about this much beforehand");
        for part in composed.parts.iter().filter(|part| part.is_cut) {
            warn!(context.part = part.name, "the end of {} was left out: too long", part.name);
        }
        let work = Self::with(Arc::new(tools), model, composed.system, options);
        let brief = compose_for_decision(options.role, &options.instructions, context);
        let task = context.task.as_ref().zip(task_without_request(context));
        let task = task.map(|(task, (whole, short))| RequestPart {
            request: task.prompt.trim().to_owned(),
            whole,
            short,
        });
        let brain = Brain::new(work.model.clone(), options.brain.clone(), brief.system);
        // The rest of the time is for what follows from a decision.
        let brain = brain.about(task).until(Instant::now() + within - within / ACTING_PART);
        Self { brain, ..work }
    }

    /// Work with these means.
    pub(crate) fn with(
        tools: Arc<dyn Tools>,
        model: Option<Arc<dyn Model>>,
        system: String,
        options: &AgentOptions,
    ) -> Self {
        let brain = Brain::new(model.clone(), options.brain.clone(), system.clone());
        Self { tools, model, system, brain, decisions: vec![] }
    }

    /// Makes a decision and keeps its record.
    pub(crate) async fn think<D: Decision>(
        &mut self,
        question: &D,
    ) -> Result<D::Answer, AgentError> {
        let decided = self.brain.think(question).await?;
        self.decisions.push(decided.record);
        Ok(decided.answer)
    }
}
