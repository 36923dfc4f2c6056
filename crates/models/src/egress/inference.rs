//! The context of a model call.

use cynode_domain::ids::{ProfileId, ProjectId, RunId, TaskId, ThreadId};
use cynode_domain::policy::{AgentType, Principal};

use super::{CallRecordBuffer, ModelRouting};
use cynode_resources::Caller;
use cynode_resources::agents::AgentIdentity;

/// The context of a model call: caller, purpose, and routing preferences.
#[derive(Debug, Clone, PartialEq)]
pub struct Inference {
    /// Access rules and credentials of this user and of the user's groups apply.
    pub caller: Caller,
    /// `None` for a person.
    pub agent: Option<Principal>,
    pub project: Option<ProjectId>,
    /// The profile of the agent's token, which narrows models and cost.
    pub profile: Option<ProfileId>,
    pub task: Option<TaskId>,
    /// Its budget applies.
    pub run: Option<RunId>,
    pub thread: Option<ThreadId>,
    /// Correlates the logs of every process.
    pub trace_id: String,
    /// For example `chat`; truncated to 100 characters in the record.
    pub purpose: String,
    /// As computed by the caller; computed here when absent.
    pub prompt_hash: Option<String>,
    pub routing: ModelRouting,
    /// The policy revision that the caller has read for this call; skips reading it again.
    pub revision: Option<i64>,
    /// Collects the call record for a caller that persists it; `None` persists it here.
    pub record_buffer: Option<CallRecordBuffer>,
}

impl Inference {
    /// Creates the context for a person, without a project.
    pub fn for_user(caller: Caller, purpose: &str, trace_id: &str) -> Self {
        Self {
            caller,
            agent: None,
            project: None,
            profile: None,
            task: None,
            run: None,
            thread: None,
            trace_id: trace_id.to_owned(),
            purpose: purpose.to_owned(),
            prompt_hash: None,
            routing: ModelRouting::default(),
            revision: None,
            record_buffer: None,
        }
    }

    /// Creates the context for an agent, bound to the scope of its token. The trace of that scope,
    /// if any, wins over the trace of the request.
    pub fn of_agent(identity: &AgentIdentity, purpose: &str, trace_id: &str) -> Self {
        let origin = identity.origin;
        let trace_id = origin.trace.map_or_else(|| trace_id.to_owned(), |trace| trace.to_string());
        let bare = Self::for_user(identity.caller.clone(), purpose, &trace_id);
        Self {
            thread: origin.thread,
            agent: identity.agent.agent().map(Principal::Agent),
            project: identity.project,
            profile: identity.profile_id,
            task: identity.task,
            run: identity.run,
            ..bare
        }
    }

    /// Returns the principal that access rules match.
    pub fn principal(&self) -> Principal {
        self.agent.unwrap_or(Principal::User)
    }

    /// Returns the agent type, whose preferences apply.
    pub fn role(&self) -> Option<AgentType> {
        self.agent.and_then(Principal::agent)
    }
}
