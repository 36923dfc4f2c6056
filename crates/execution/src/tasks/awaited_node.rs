//! The worker node that the next job of a task waits for, for people.

use std::collections::BTreeMap;

use cynode_domain::ids::TaskId;
use cynode_domain::plan::InputMode;
use cynode_domain::status::NodeStatus;
use cynode_store::{Node, Task, Tx};
use cynode_wire::git::REPOSITORIES_FEATURE;
use cynode_wire::nodes::AGENTS_FEATURE;

use super::TaskError;
use crate::nodes::has_feature;

/// Describes what the waiting job of each of the `awaiting` tasks waits for, if a node must change before it runs. The
/// number of statements does not depend on the number of tasks.
pub(super) async fn load_awaited_nodes(
    tx: &mut Tx,
    tasks: &[Task],
    awaiting: &[TaskId],
) -> Result<BTreeMap<TaskId, String>, TaskError> {
    let awaited = tx.awaited_nodes_of(awaiting).await?;
    let pinned: Vec<_> = awaited.values().filter_map(|node| *node).collect();
    let is_waiting = |task: &&Task| awaited.contains_key(&task.spec.id);
    let waiting: Vec<&Task> = tasks.iter().filter(is_waiting).collect();
    let needs_feature = waiting.iter().any(|task| !required_features(task).is_empty());
    let nodes = if needs_feature { tx.node_list().await? } else { vec![] };
    let summaries = tx.node_summaries(&pinned).await?;
    let describe = |task: &Task| {
        let missing = required_features(task);
        match awaited.get(&task.spec.id).copied().flatten() {
            None => describe_missing_features(&missing, &nodes),
            Some(id) => {
                let node = summaries.get(&id)?;
                let known = nodes.iter().find(|known| known.id == id);
                let has = |name: &&&str| known.is_none_or(|known| has_feature(known, name));
                let why = match (node.status, missing.iter().find(|name| !has(name))) {
                    (NodeStatus::Drained, _) => "is drained".to_owned(),
                    (NodeStatus::Registered | NodeStatus::Inactive, _) => "is offline".to_owned(),
                    (NodeStatus::Active, Some(name)) => format!("lacks the feature \"{name}\""),
                    (NodeStatus::Active, None) => "is at capacity".to_owned(),
                };
                Some(format!("waiting for node \"{}\", which {why}", node.slug))
            }
        }
    };
    let described = waiting.into_iter().filter_map(|task| Some((task.spec.id, describe(task)?)));
    Ok(described.collect())
}

/// The features that the node of a task must have.
fn required_features(task: &Task) -> Vec<&'static str> {
    let is_agent = task.spec.input_mode == InputMode::Agent;
    let has_repository = task.spec.options.repository.is_some();
    let agents = is_agent.then_some(AGENTS_FEATURE);
    agents.into_iter().chain(has_repository.then_some(REPOSITORIES_FEATURE)).collect()
}

/// Describes the features that no node has, registered or active.
fn describe_missing_features(required: &[&str], nodes: &[Node]) -> Option<String> {
    let is_able = |node: &Node| required.iter().all(|name| has_feature(node, name));
    if required.is_empty() || nodes.iter().any(is_able) {
        return None;
    }
    let (noun, pronoun) =
        if required.len() == 1 { ("feature", "it") } else { ("features", "them") };
    let names: Vec<_> = required.iter().map(|name| format!("\"{name}\"")).collect();
    Some(format!(
        "waiting for a worker node with the {noun} {}: no node has {pronoun}; `cynork nodes get NODE` shows what a \
         node has",
        names.join(" and ")
    ))
}
