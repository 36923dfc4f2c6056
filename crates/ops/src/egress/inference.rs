//! Who asks a model, and for what.

use cynode_domain::ids::{ProjectId, RunId, TaskId, ThreadId};
use cynode_domain::policy::{AgentType, Principal};

use super::{Routing, Tab};
use crate::Caller;
use crate::agents::AgentIdentity;

/// Who asks a model, for what, and which providers they would rather have.
#[derive(Debug, Clone, PartialEq)]
pub struct Inference {
    /// For which user; access and credentials are that user's and of the user's groups.
    pub caller: Caller,
    /// Which agent asks; nothing for a person.
    pub agent: Option<Principal>,
    /// In which project.
    pub project: Option<ProjectId>,
    /// For which task.
    pub task: Option<TaskId>,
    /// In which run; its budget counts.
    pub run: Option<RunId>,
    /// In which conversation.
    pub thread: Option<ThreadId>,
    /// Finds the request in the logs of every process.
    pub trace_id: String,
    /// What it is for, such as `chat`; cut to 100 characters on record.
    pub purpose: String,
    /// The hash of the question, as whoever asks counts it; computed here when absent.
    pub prompt_hash: Option<String>,
    /// Which providers are wanted, and in which order.
    pub routing: Routing,
    /// The revision of what calls are decided by, if whoever asks has looked for this very call: then
    /// it is not looked for again.
    pub revision: Option<i64>,
    /// Where the record of the call goes if whoever asks writes it; otherwise it is written here.
    pub tab: Option<Tab>,
}

impl Inference {
    /// A person asks, in no particular project.
    pub fn of_user(caller: Caller, purpose: &str, trace_id: &str) -> Self {
        Self {
            caller,
            agent: None,
            project: None,
            task: None,
            run: None,
            thread: None,
            trace_id: trace_id.to_owned(),
            purpose: purpose.to_owned(),
            prompt_hash: None,
            routing: Routing::default(),
            revision: None,
            tab: None,
        }
    }

    /// Whoever presented this token asks, for what the token is bound to.
    /// The trace of that work, where it has one, beats that of the request.
    pub fn of_agent(identity: &AgentIdentity, purpose: &str, trace_id: &str) -> Self {
        let origin = identity.origin;
        let trace_id = origin.trace.map_or_else(|| trace_id.to_owned(), |trace| trace.to_string());
        let bare = Self::of_user(identity.caller.clone(), purpose, &trace_id);
        Self {
            thread: origin.thread,
            agent: identity.agent.agent().map(Principal::Agent),
            project: identity.project,
            task: identity.task,
            run: identity.run,
            ..bare
        }
    }

    /// In the words of access rules.
    pub(crate) fn principal(&self) -> Principal {
        self.agent.unwrap_or(Principal::User)
    }

    /// The kind of agent, whose own preferences count.
    pub(crate) fn role(&self) -> Option<AgentType> {
        self.agent.and_then(Principal::agent)
    }
}
