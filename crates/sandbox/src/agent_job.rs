//! The document of an agent's job, built from its assignment.

use cynode_domain::job::Action;
use cynode_wire::agent_jobs::{
    AgentConstraints, AgentContext, AgentInference, AgentJobDocument, AgentJobSpec, ExecutionMode,
    PROTOCOL_VERSION,
};

use crate::spec::JobSpec;

/// Time for the agent to write its result before the job's time limit, in seconds.
const RESERVE_S: u32 = 10;
/// The most actions of a model in one job.
const MAX_STEPS: u32 = 60;
/// Bytes of output of one command that an agent keeps.
const MAX_OUTPUT_BYTES: u32 = 16 * 1024;
/// The model of work that names none; the orchestrator resolves it.
const DEFAULT_MODEL_HINT: &str = "strong";

/// Builds the document; `None` if the job is not an agent's.
pub(crate) fn agent_job_document(spec: &JobSpec) -> Option<AgentJobDocument> {
    let job = &spec.assignment;
    let Action::Agent { prompt, criteria, model_hint } = &job.action else { return None };
    let agent = job.agent.as_ref();
    let spec = AgentJobSpec {
        protocol_version: PROTOCOL_VERSION.to_owned(),
        job_id: job.job_id,
        task_id: job.task_id,
        trace_id: job.trace.map(|context| context.trace),
        profile_id: job.trace.and_then(|context| context.profile),
        execution_mode: ExecutionMode::AgentInference,
        constraints: AgentConstraints {
            max_runtime_seconds: job.limits.timeout_s.saturating_sub(RESERVE_S).max(1),
            max_output_bytes: MAX_OUTPUT_BYTES,
            max_steps: MAX_STEPS,
            ext_net_allowed: spec.has_hosts(),
            max_tokens: None,
        },
        inference: Some(AgentInference {
            allowed_models: vec![model_hint.as_deref().unwrap_or(DEFAULT_MODEL_HINT).to_owned()],
            action_format: None,
        }),
        persona: None,
        context: AgentContext {
            task_context: prompt.clone(),
            acceptance_criteria: criteria.clone(),
            ..AgentContext::default()
        },
        steps: vec![],
    };
    Some(AgentJobDocument {
        spec,
        program: agent.map(|agent| agent.program.clone()),
        is_canary: agent.is_some_and(|agent| agent.is_canary),
    })
}
