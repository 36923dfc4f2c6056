//! Everything a decision can depend on, as plain data.

use std::collections::BTreeMap;

use serde_json::Value;

/// Ids are small numbers here: 0 is one thing, 1 another of its kind.
pub(super) type Small = u128;

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

/// One rule, as plain data.
#[derive(Debug, Clone)]
pub(super) struct PlainRule {
    pub(super) subject: (&'static str, Small),
    pub(super) action: &'static str,
    pub(super) kind: &'static str,
    pub(super) pattern: &'static str,
    pub(super) allows: bool,
    pub(super) priority: i64,
    pub(super) only: Vec<&'static str>,
}

/// Everything a decision can depend on, as plain data.
#[derive(Debug, Clone)]
pub(super) struct Plain {
    pub(super) caller: &'static str,
    pub(super) user: Small,
    pub(super) group: Option<Small>,
    pub(super) bound_task: Option<Small>,
    pub(super) bound_job: Option<Small>,
    pub(super) bound_run: Option<Small>,
    pub(super) bound_project: Option<Small>,
    pub(super) asked: &'static str,
    pub(super) tool: &'static str,
    pub(super) enabled: bool,
    pub(super) changed: bool,
    pub(super) scope: &'static str,
    pub(super) server_enabled: bool,
    pub(super) setting: Option<Value>,
    pub(super) arguments: Vec<(&'static str, Value)>,
    /// The project of each visible task.
    pub(super) tasks: BTreeMap<Small, Small>,
    /// The task of each job.
    pub(super) jobs: BTreeMap<Small, Small>,
    /// The task of each run.
    pub(super) runs: BTreeMap<Small, Small>,
    pub(super) projects: Vec<Small>,
    pub(super) rules: Vec<PlainRule>,
}
