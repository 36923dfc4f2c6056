//! Who asks: the proof that an edge authenticated somebody.

use cynode_domain::ids::{NodeId, UserId};

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
    /// What the user presented, for answers that last longer than a moment.
    pub(crate) credential: Credential,
}

impl Caller {
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
}
