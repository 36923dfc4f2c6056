//! Who asks: the proof that an edge authenticated somebody.

use cynode_domain::ids::{IncarnationId, NodeId, UserId};
use cynode_store::Job;

use crate::accounts::Credential;

/// A signed-in user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The user.
    pub user: UserId,
    /// The user's handle.
    pub handle: String,
    /// Whether the user administers this installation.
    pub is_admin: bool,
    /// What the user presented, for answers that last longer than a moment. An agent that acts for
    /// the user has none of the user's.
    pub(crate) credential: Option<Credential>,
}

impl Caller {
    /// Somebody who acts for a user, and did not present a token of the user's own.
    pub fn on_behalf_of(user: UserId, handle: String, is_admin: bool) -> Self {
        Self { user, handle, is_admin, credential: None }
    }

    /// Whether something that belongs to `owner` is visible to this user.
    pub fn may_see(&self, owner: UserId) -> bool {
        self.is_admin || self.user == owner
    }

    /// The owner to filter by: nobody in particular for administrators.
    pub(crate) fn own(&self) -> Option<UserId> {
        if self.is_admin { None } else { Some(self.user) }
    }
}

/// A registered worker node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeCaller {
    /// The node.
    pub node: NodeId,
    /// The node's name.
    pub slug: String,
    /// The process of the node that calls.
    pub incarnation: IncarnationId,
}

impl NodeCaller {
    /// Whether this process of this node holds a job. The id of a process alone proves nothing: any
    /// node could name it.
    pub(crate) fn holds(&self, job: &Job) -> bool {
        job.node == Some(self.node) && job.incarnation == Some(self.incarnation)
    }
}
