//! Worker nodes: registration, polling for jobs, reporting results, and job placement.

mod admission;
mod agent_token;
mod assign;
mod connections;
mod incarnation;
mod job_repository;
mod job_trace;
mod join_tokens;
mod manage;
mod placement;
mod poll;
mod register;
mod report;
mod workspaces;

use std::collections::BTreeMap;

use cynode_domain::agent::Role;
use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::git::PushOrder;
use cynode_domain::ids::{JobId, TraceId};
use cynode_domain::job::{Action, Limits};
use cynode_domain::node_labels::NodeLabels;
use cynode_domain::trace::TraceContext;
use cynode_runtime::clock::SharedClock;
use cynode_store::{Store, Task};
use cynode_wire::agent_profiles::AgentAssignment;
use cynode_wire::git::RepositoryAssignment;
use cynode_wire::nodes::CacheAssignment;
use serde::{Deserialize, Serialize};

pub(crate) use admission::{AgentAdmissions, assign_agent, describe_deleted_profile};
pub use assign::{AssignmentOutcome, AssignmentPass, unassign_silent_jobs};
pub use assign::{has_feature, has_image, has_labels, has_memory, is_disk_short};
pub use job_repository::JobRepository;
pub use join_tokens::JoinCredential;
pub use placement::JobPlacer;
pub use placement::PURPOSE as PLACEMENT;
pub use report::close_job;

use cynode_resources::agents::signs::AgentSigns;
use cynode_resources::{PageError, RepositoryDenied, Signals};

/// A node that has not polled for this long gets no more jobs.
pub const NODE_TIMEOUT_MS: i64 = 40_000;

/// Why a node operation was rejected.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    #[error("the node token is unknown or was replaced: register again")]
    BadToken,
    #[error("the signature of the registration does not match its public key")]
    BadProof,
    #[error(
        "the join token is unknown, expired, used, or for another node: create one with \
         `cynork nodes join-token`"
    )]
    BadJoinToken,
    #[error(
        "the node name \"{0}\" belongs to a node with another key: give this node another name with --slug, or \
         remove the other one with `cynork nodes delete {0}`"
    )]
    KeyMismatch(String),
    #[error(
        "the node \"{slug}\" has {open_jobs} open jobs: drain it with `cynork nodes drain {slug}` and wait for them"
    )]
    HasOpenJobs { slug: String, open_jobs: i64 },
    #[error("there is no such join token")]
    NoSuchJoinToken,
    #[error("there is no node \"{0}\"")]
    NotFound(String),
    #[error("only an administrator may do this")]
    NotAdmin,
    #[error("{}", .0.join("; "))]
    Invalid(Vec<String>),
    /// Another live process has registered under the node's name.
    #[error(
        "the node name \"{slug}\" is in use: a running worker node with that name reported {silent_s} s ago. \
         Give this node another name with --slug, or stop the other one first"
    )]
    NameInUse {
        slug: String,
        /// Seconds since the last poll of the other process.
        silent_s: i64,
    },
    /// A newer process has taken over the node's name.
    #[error("another process now runs as node \"{0}\": restart this one")]
    Superseded(String),
    /// The process does not hold the job, or the job has ended.
    #[error("this process of the node does not hold job {0}, or the job has ended")]
    JobNotHeld(JobId),
    /// The rules do not allow what the job would do with its repository.
    #[error(transparent)]
    RepositoryDenied(#[from] RepositoryDenied),
    /// The status transition is not allowed.
    #[error(transparent)]
    IllegalTransition(#[from] cynode_domain::status::IllegalTransition),
    /// The operating system returned no random bytes.
    #[error("cannot generate a node token")]
    TokenGeneration(#[from] getrandom::Error),
    #[error(transparent)]
    Page(#[from] PageError),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Classified for NodeError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::BadToken | Self::BadProof | Self::BadJoinToken => {
                Classification::new(ErrorClass::Unauthenticated, self)
            }
            Self::NotFound(_) | Self::NoSuchJoinToken => {
                Classification::new(ErrorClass::NotFound, self)
            }
            Self::NotAdmin | Self::RepositoryDenied(_) => {
                Classification::new(ErrorClass::Forbidden, self)
            }
            Self::Invalid(faults) => Classification::invalid(self, faults),
            Self::NameInUse { .. }
            | Self::KeyMismatch(_)
            | Self::HasOpenJobs { .. }
            | Self::Superseded(_)
            | Self::JobNotHeld(_)
            | Self::IllegalTransition(_) => Classification::new(ErrorClass::Conflict, self),
            Self::TokenGeneration(_) => Classification::internal(),
            Self::Page(error) => error.classify(),
            Self::Store(error) => error.classify(),
        }
    }
}

/// Free disk below which a node gets no jobs, if the configuration names none.
pub const MIN_FREE_DISK_MIB: u32 = 512;

/// The payload column of a job: what the worker node runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobPayload {
    pub action: Action,
    pub limits: Limits,
    /// Names of the attachments to copy into the workspace.
    pub attachments: Vec<String>,
    /// The repository to check out into the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<RepositoryAssignment>,
    /// The push that the node executes instead of the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub push: Option<PushOrder>,
    /// The agent that carries out the action, if it is not the built-in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentAssignment>,
    /// The work unit that the job carries out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_unit: Option<JobWorkUnit>,
    /// The labels that the node must have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_labels: NodeLabels,
    /// The image that the job runs in; `host` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The cache that survives the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheAssignment>,
    /// The trace that the job belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceContext>,
}

/// The trace of a job of a task, and the profile that it is done in.
pub(crate) fn trace_context(task: &Task, trace: TraceId) -> TraceContext {
    TraceContext { trace, profile: Some(task.spec.profile()) }
}

/// The work unit of a job, and the role of its agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobWorkUnit {
    pub id: String,
    pub role: Role,
}

/// Worker nodes. Cheap to clone.
#[derive(Clone)]
pub struct NodeService {
    store: Store,
    clock: SharedClock,
    signals: Signals,
    /// Lease of a running job; a job whose node does not renew it counts as interrupted.
    job_lease_ms: u32,
    placer: JobPlacer,
    /// The limits of a job are lowered to it when the job is assigned.
    job_ceiling: Limits,
    /// Output of a job is a sign of life of its agent.
    signs: AgentSigns,
    /// A node with less free disk gets no jobs.
    min_free_disk_mib: u32,
}

impl NodeService {
    /// Creates the service. A job whose node does not renew it within `job_lease_ms` counts as interrupted.
    pub fn new(store: Store, clock: SharedClock, signals: Signals, job_lease_ms: u32) -> Self {
        let placer = JobPlacer::rule_based(store.clone(), clock.clone(), signals.clone());
        let (signs, min_free_disk_mib) = (AgentSigns::new(store.clone()), MIN_FREE_DISK_MIB);
        Self {
            store,
            clock,
            signals,
            job_lease_ms,
            placer,
            job_ceiling: Limits::MAX,
            signs,
            min_free_disk_mib,
        }
    }

    /// Sets the free disk that a node must have to get jobs.
    #[must_use]
    pub fn with_min_free_disk(self, min_free_disk_mib: u32) -> Self {
        Self { min_free_disk_mib, ..self }
    }

    /// Sets where the signs of life of agents are recorded.
    #[must_use]
    pub fn with_signs(self, signs: AgentSigns) -> Self {
        Self { signs, ..self }
    }

    /// Sets the placer that chooses nodes for jobs.
    #[must_use]
    pub fn with_placer(self, placer: JobPlacer) -> Self {
        Self { placer, ..self }
    }

    /// Sets the most that a job may use.
    #[must_use]
    pub fn with_job_ceiling(self, job_ceiling: Limits) -> Self {
        Self { job_ceiling, ..self }
    }
}
