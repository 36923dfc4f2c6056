//! How a task is executed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::agent_profile::AgentSelection;
use crate::git::{ChangeSource, PushOrder, TaskRepository};
use crate::ids::NodeId;
use crate::job::Limits;
use crate::node_labels::NodeLabels;
use crate::plan::StepCriterion;
use crate::start::Trigger;

/// The execution options of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskOptions {
    /// Artifact paths that the last step must produce.
    pub expected_outputs: Vec<String>,
    /// Acceptance criteria of single steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub step_criteria: Vec<StepCriterion>,
    /// The limits of each job.
    pub limits: Limits,
    /// Whether an interrupted step may be retried.
    pub retry_interrupted: bool,
    /// The most attempts of a failing step; preferences decide if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// Whether a person must approve the plan before it is executed.
    #[serde(default)]
    pub approve_plan: bool,
    /// How long a question of its run waits for an answer, in seconds; without limit if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_within_s: Option<u32>,
    /// The worker node that executes all of it; if absent, the first job is placed by the scheduler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeId>,
    /// The labels of the worker nodes that may execute it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_labels: NodeLabels,
    /// The image that its jobs run in; `host` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The repository to work on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<TaskRepository>,
    /// The changes of other tasks that it starts from, in the order of their merge.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub builds_on: Vec<ChangeSource>,
    /// Whether it starts with conflict markers where these changes conflict; otherwise its first job fails.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mark_conflicts: bool,
    /// The push that its only step is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub push: Option<PushOrder>,
    /// The agent profile that works on it; the built-in agent if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentSelection>,
    /// Which model the built-in agent uses, such as `fast`; the worker node decides if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_hint: Option<String>,
    /// What started it; absent for a copy of another task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<Trigger>,
}
