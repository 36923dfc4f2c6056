//! Authenticated callers. Holding one is proof that the API edge authenticated the request.

use cynode_domain::ids::{IncarnationId, NodeId, UserId};
use cynode_store::Job;

use crate::accounts::PresentedToken;

/// A signed-in user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub user: UserId,
    pub handle: String,
    pub is_admin: bool,
    /// The presented token, so that long-lived responses can re-check it. `None` for an agent that
    /// acts for the user.
    pub credential: Option<PresentedToken>,
}

impl Caller {
    /// A caller that acts for a user without a token of that user.
    pub fn on_behalf_of(user: UserId, handle: String, is_admin: bool) -> Self {
        Self { user, handle, is_admin, credential: None }
    }

    /// Whether resources of `owner` are visible to this user.
    pub fn may_see(&self, owner: UserId) -> bool {
        self.is_admin || self.user == owner
    }

    /// The owner to filter lists by; `None` (no filter) for administrators.
    pub fn own(&self) -> Option<UserId> {
        if self.is_admin { None } else { Some(self.user) }
    }
}

/// Whether a person or an agent performs an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActorKind {
    Person,
    /// An agent on behalf of a person.
    Agent,
}

impl ActorKind {
    /// The display name of the actor.
    pub fn display_name(self, caller: &Caller) -> String {
        match self {
            Self::Person => caller.handle.clone(),
            Self::Agent => format!("an agent of {}", caller.handle),
        }
    }
}

/// The user behind an operation and how they act.
#[derive(Debug, Clone, Copy)]
pub struct Actor<'a> {
    pub caller: &'a Caller,
    pub kind: ActorKind,
}

impl Actor<'_> {
    pub fn display_name(&self) -> String {
        self.kind.display_name(self.caller)
    }
}

/// A registered worker node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeCaller {
    pub node: NodeId,
    pub slug: String,
    /// The calling process of the node.
    pub incarnation: IncarnationId,
}

impl NodeCaller {
    /// Whether this process of this node holds a job. Both ids must match: any node could send the
    /// incarnation id of another.
    pub fn holds_job(&self, job: &Job) -> bool {
        job.node == Some(self.node) && job.incarnation == Some(self.incarnation)
    }
}
