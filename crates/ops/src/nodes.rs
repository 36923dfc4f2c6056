//! Worker nodes: joining, asking for work, reporting it; and which job goes to which node.

mod assign;
mod manage;
mod place;
mod poll;
mod register;
mod report;
mod tenure;
mod workspaces;

use cynode_domain::ids::JobId;
use cynode_domain::job::{Action, Limits};
use cynode_runtime::clock::SharedClock;
use cynode_store::Store;
use serde::{Deserialize, Serialize};

pub(crate) use assign::{Assigned, Placing, take_back};
pub(crate) use place::PURPOSE as PLACEMENT;
pub use place::Placer;
pub(crate) use report::close_job;

use crate::Signals;

/// How long a node may be silent before it gets no more work.
pub(crate) const NODE_SILENCE_MS: i64 = 40_000;

/// Why a node operation was refused.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The token is unknown, or a newer registration replaced it.
    #[error("the node token is unknown or was replaced: register again")]
    BadToken,
    /// There is no such node.
    #[error("there is no node \"{0}\"")]
    NotFound(String),
    /// Only administrators may do this.
    #[error("only an administrator may do this")]
    NotAdmin,
    /// The request breaks rules.
    #[error("{}", .0.join("; "))]
    Invalid(Vec<String>),
    /// Another process works under the node's name.
    #[error(
        "the node name \"{slug}\" is in use: a running worker node with that name reported {silent_s} s ago. \
         Give this node another name with --slug, or stop the other one first"
    )]
    NameInUse {
        /// The name.
        slug: String,
        /// Seconds since the other process was heard of.
        silent_s: i64,
    },
    /// Another process works under the node's name by now.
    #[error("another process works as node \"{0}\" by now: this one has to begin again")]
    Superseded(String),
    /// The process does not hold such a job, or the job is over.
    #[error("this process of the node holds no open job {0}")]
    NotYourJob(JobId),
    /// The node cannot be moved that way.
    #[error(transparent)]
    IllegalMove(#[from] cynode_domain::status::IllegalMove),
    /// The system gave no randomness.
    #[error("no secret could be made")]
    Secret(#[from] getrandom::Error),
    /// The database does not answer.
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

/// What a job's row says is to be run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Payload {
    /// What runs.
    pub(crate) action: Action,
    /// Its bounds.
    pub(crate) limits: Limits,
    /// Names of attachments to place in the workspace.
    pub(crate) attachments: Vec<String>,
}

/// Worker nodes. Cheap to clone.
#[derive(Clone)]
pub struct Nodes {
    store: Store,
    clock: SharedClock,
    signals: Signals,
    /// How long a job may go unmentioned by its node before it counts as interrupted.
    job_lease_ms: u32,
    placer: Placer,
}

impl Nodes {
    /// Nodes kept in `store`. A job that its node does not mention for `job_lease_ms` counts as
    /// interrupted.
    pub fn new(store: Store, clock: SharedClock, signals: Signals, job_lease_ms: u32) -> Self {
        let placer = Placer::by_rule((store.clone(), clock.clone(), signals.clone()));
        Self { store, clock, signals, job_lease_ms, placer }
    }

    /// The same nodes, with jobs placed by `placer`.
    #[must_use]
    pub fn placed_by(self, placer: Placer) -> Self {
        Self { placer, ..self }
    }
}
