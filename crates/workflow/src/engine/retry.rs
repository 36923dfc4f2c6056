//! Retry policies of nodes.

use std::time::Duration;

use cynode_domain::backoff::Backoff;
use cynode_workflow_state::NodeErrorClass;

/// Retry policy of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeRetryPolicy {
    /// Maximum number of attempts.
    pub attempts: u32,
    pub backoff: Backoff,
    /// How long one attempt may take without a heartbeat; absent for a node that bounds itself.
    pub timeout: Option<Duration>,
}

impl NodeRetryPolicy {
    /// Three attempts, backoff from one to thirty seconds, each within `timeout`.
    pub const fn with_timeout(timeout: Duration) -> Self {
        Self {
            attempts: 3,
            backoff: Backoff { first: Duration::from_secs(1), cap: Duration::from_secs(30) },
            timeout: Some(timeout),
        }
    }

    /// The same for a node that bounds its own duration.
    pub const fn without_timeout() -> Self {
        Self { timeout: None, ..Self::with_timeout(Duration::ZERO) }
    }
    /// The delay before the next attempt after `failures` consecutive failures, the last of this class;
    /// `None` if the node is not retried.
    pub fn delay_after(&self, class: NodeErrorClass, failures: u32) -> Option<Duration> {
        match class {
            NodeErrorClass::Transient => Some(self.backoff.jittered_delay(failures)),
            NodeErrorClass::BadOutput => Some(self.backoff.jittered_delay(1)),
            NodeErrorClass::Cancelled
            | NodeErrorClass::LeaseLost
            | NodeErrorClass::Denied
            | NodeErrorClass::Waits
            | NodeErrorClass::Asks => None,
        }
    }
}
