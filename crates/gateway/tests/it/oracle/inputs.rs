//! All inputs of a decision, as plain data.

use std::collections::BTreeMap;

use serde_json::Value;

/// Ids are small numbers here: 0 is one entity, 1 another of its kind.
pub(super) type SmallId = u128;

pub(super) const NAMES: [&str; 8] = [
    "db.task.get",
    "db.task.create",
    "db.finding.create",
    "artifact.put",
    "node.list",
    "sandbox.allowed_images.add",
    "shell.exec",
    "files.read",
];
pub(super) const SETTING: &str = "agents.project_manager.sandbox.allow_add_to_allowed_images";

#[derive(Debug, Clone)]
pub(super) struct DecisionRule {
    pub(super) subject: (&'static str, SmallId),
    pub(super) action: &'static str,
    pub(super) kind: &'static str,
    pub(super) pattern: &'static str,
    pub(super) allows: bool,
    pub(super) priority: i64,
    pub(super) only: Vec<&'static str>,
}

/// All inputs of a decision.
#[derive(Debug, Clone)]
pub(super) struct DecisionInputs {
    pub(super) caller: &'static str,
    pub(super) user: SmallId,
    pub(super) group: Option<SmallId>,
    pub(super) bound_task: Option<SmallId>,
    pub(super) bound_job: Option<SmallId>,
    pub(super) bound_run: Option<SmallId>,
    pub(super) bound_project: Option<SmallId>,
    pub(super) request: &'static str,
    pub(super) tool: &'static str,
    pub(super) enabled: bool,
    pub(super) changed: bool,
    pub(super) scope: &'static str,
    pub(super) server_enabled: bool,
    pub(super) setting: Option<Value>,
    pub(super) arguments: Vec<(&'static str, Value)>,
    /// The project of each visible task.
    pub(super) tasks: BTreeMap<SmallId, SmallId>,
    /// The task of each job.
    pub(super) jobs: BTreeMap<SmallId, SmallId>,
    /// The task of each run.
    pub(super) runs: BTreeMap<SmallId, SmallId>,
    pub(super) projects: Vec<SmallId>,
    pub(super) rules: Vec<DecisionRule>,
}
