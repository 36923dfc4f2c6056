//! The seven nodes of a task's workflow, one file each.
//!
//! Every node is data in, data out; the `On<RunState>` beside it says which part of the state it
//! reads and writes. None of them knows what follows: that is [`crate::graph`]'s business.

pub mod collect_result;
pub mod dispatch_step;
pub mod finalize_summary;
pub mod load_task_context;
pub mod mark_failed;
pub mod plan_steps;
pub mod verify_step_result;

use std::fmt;
use std::sync::Arc;

use crate::control::ControlPlane;

/// The control plane that a node acts through.
#[derive(Clone)]
pub struct Control(Arc<dyn ControlPlane>);

impl Control {
    /// Acts through `plane`.
    pub fn new(plane: Arc<dyn ControlPlane>) -> Self {
        Self(plane)
    }
}

impl std::ops::Deref for Control {
    type Target = dyn ControlPlane;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Control")
    }
}
