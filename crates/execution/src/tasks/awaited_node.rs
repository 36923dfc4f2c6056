//! The worker node that the next job of a task waits for, for people.

use std::collections::BTreeMap;

use cynode_domain::agent_profile::AgentProfileName;
use cynode_domain::ids::TaskId;
use cynode_domain::image_name::HOST_IMAGE;
use cynode_domain::job::Limits;
use cynode_domain::plan::InputMode;
use cynode_domain::status::NodeStatus;
use cynode_store::{Node, Task, Tx};
use cynode_wire::agent_profiles::AGENT_PROFILES_FEATURE;
use cynode_wire::git::{BUILDS_ON_FEATURE, REPOSITORIES_FEATURE};
use cynode_wire::nodes::AGENTS_FEATURE;

use super::TaskError;
use crate::nodes::{
    AgentAdmissions, describe_deleted_profile, has_feature, has_image, has_labels, has_memory,
    is_disk_short,
};

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
    let nodes = if waiting.is_empty() { vec![] } else { tx.node_list().await? };
    let needs_admission = waiting.iter().any(|task| admitted_profile(task).is_some());
    let admissions =
        if needs_admission { AgentAdmissions::load(tx).await? } else { AgentAdmissions::default() };
    let summaries = tx.node_summaries(&pinned).await?;
    let describe = |task: &Task| {
        let missing = required_features(task);
        let canary = CanaryWait::find(task, &admissions);
        match awaited.get(&task.spec.id).copied().flatten() {
            None if missing.is_empty() && !demands_machine(task) => describe_full_disks(&nodes),
            None => {
                let is_able = |node: &&Node| {
                    let options = &task.spec.options;
                    missing.iter().all(|name| has_feature(node, name))
                        && demanded_image(task).is_none_or(|image| has_image(node, image))
                        && has_labels(node, &options.node_labels)
                        && has_memory(node, options.limits.memory_mib.into())
                        && admitted_profile(task)
                            .is_none_or(|profile| admissions.has_passed(profile.as_str(), node.id))
                };
                describe_unavailable(nodes.iter().filter(is_able), || {
                    describe_missing_features(&missing, &nodes)
                        .or_else(|| describe_missing_machine(task, &nodes))
                        .or_else(|| describe_deleted(task, &admissions))
                        .or_else(|| canary.as_ref()?.describe(&missing, &nodes, &admissions))
                })
            }
            Some(id) => {
                let node = summaries.get(&id)?;
                let known = nodes.iter().find(|known| known.id == id);
                let has = |name: &&&str| known.is_none_or(|known| has_feature(known, name));
                let is_awaited =
                    |wait: &&CanaryWait<'_>| !admissions.has_passed(wait.profile.as_str(), id);
                let canary = canary.as_ref().filter(is_awaited);
                let lacks = |image: &&str| known.is_some_and(|known| !has_image(known, image));
                let image = demanded_image(task).filter(lacks);
                let feature = missing.iter().find(|name| !has(name));
                let why = match (node.status, feature, image, canary) {
                    (NodeStatus::Drained, ..) => "is drained".to_owned(),
                    (NodeStatus::Registered | NodeStatus::Inactive, ..) => "is offline".to_owned(),
                    (NodeStatus::Active, Some(name), ..) => format!("lacks the feature \"{name}\""),
                    (NodeStatus::Active, None, Some(image), _) => {
                        format!("lacks the image \"{image}\"")
                    }
                    (NodeStatus::Active, None, None, Some(wait)) => {
                        let command = format!("cynork agent canary {} --node", wait.profile);
                        format!("has not passed {}; run `{command} {}`", wait.canary(), node.slug)
                    }
                    (NodeStatus::Active, None, None, None) => {
                        match known.filter(|it| is_disk_short(it)) {
                            Some(node) => describe_full_disk(node),
                            None => "is at capacity".to_owned(),
                        }
                    }
                };
                Some(format!("waiting for node \"{}\", which {why}", node.slug))
            }
        }
    };
    let described = waiting.into_iter().filter_map(|task| Some((task.spec.id, describe(task)?)));
    Ok(described.collect())
}

/// Describes what a task waits for if none of the nodes that could run it is active; `missing` describes what no node has.
fn describe_unavailable<'a>(
    able: impl Iterator<Item = &'a Node>,
    missing: impl FnOnce() -> Option<String>,
) -> Option<String> {
    let mut first = None;
    for node in able {
        if node.status == NodeStatus::Active && !is_disk_short(node) {
            return None;
        }
        first.get_or_insert(node);
    }
    let Some(node) = first else {
        let text = "waiting for a worker node that has all that the task demands: none has all of it; \
                    `cynork nodes get NODE` shows what a node has";
        return missing().or_else(|| Some(text.to_owned()));
    };
    let why = match node.status {
        NodeStatus::Drained => "is drained".to_owned(),
        NodeStatus::Active => describe_full_disk(node),
        NodeStatus::Registered | NodeStatus::Inactive => "is offline".to_owned(),
    };
    Some(format!("waiting for node \"{}\", which {why}", node.slug))
}

/// Describes the wait of a task that every node can run, if the disks of all active ones are full.
fn describe_full_disks(nodes: &[Node]) -> Option<String> {
    let mut active = nodes.iter().filter(|node| node.status == NodeStatus::Active);
    let first = active.next()?;
    if !is_disk_short(first) || active.any(|node| !is_disk_short(node)) {
        return None;
    }
    Some(format!("waiting for node \"{}\", which {}", first.slug, describe_full_disk(first)))
}

fn describe_full_disk(node: &Node) -> String {
    let free = node.machine_load.as_ref().and_then(|load| load["free_disk_mib"].as_u64());
    format!("has too little free disk: {} MiB", free.unwrap_or_default())
}

/// Describes a profile that was deleted.
fn describe_deleted(task: &Task, admissions: &AgentAdmissions) -> Option<String> {
    let profile = admitted_profile(task)?;
    let is_deleted = admissions.revision(profile.as_str()).is_none();
    is_deleted.then(|| describe_deleted_profile(profile.as_str()))
}

/// The features that the node of a task must have.
fn required_features(task: &Task) -> Vec<&'static str> {
    let is_agent = task.spec.input_mode == InputMode::Agent;
    let has_repository = task.spec.options.repository.is_some();
    let builds_on = !task.spec.options.builds_on.is_empty();
    let has_profile = task.spec.options.agent.is_some();
    let features = [
        is_agent.then_some(AGENTS_FEATURE),
        has_profile.then_some(AGENT_PROFILES_FEATURE),
        has_repository.then_some(REPOSITORIES_FEATURE),
        builds_on.then_some(BUILDS_ON_FEATURE),
    ];
    features.into_iter().flatten().collect()
}

/// Whether a task demands labels, an image, or more memory than the default.
fn demands_machine(task: &Task) -> bool {
    let options = &task.spec.options;
    !options.node_labels.is_empty()
        || options.limits.memory_mib > Limits::default().memory_mib
        || demanded_image(task).is_some()
}

/// The image of a task that not every node has.
fn demanded_image(task: &Task) -> Option<&str> {
    task.spec.options.image.as_deref().filter(|image| *image != HOST_IMAGE)
}

/// Describes labels, memory and an image that no node has, registered or active.
fn describe_missing_machine(task: &Task, nodes: &[Node]) -> Option<String> {
    let options = &task.spec.options;
    let (labels, memory_mib) = (&options.node_labels, options.limits.memory_mib);
    let image = demanded_image(task);
    let is_able = |node: &Node| {
        has_labels(node, labels)
            && has_memory(node, memory_mib.into())
            && image.is_none_or(|image| has_image(node, image))
    };
    if !demands_machine(task) || nodes.iter().any(is_able) {
        return None;
    }
    let labels = labels.iter().map(|(key, value)| format!("the label {key}={value}"));
    let memory = format!("{memory_mib} MiB of memory");
    let memory = (memory_mib > Limits::default().memory_mib).then_some(memory);
    let image = image.map(|image| format!("the image \"{image}\""));
    let demands: Vec<_> = labels.chain(memory).chain(image).collect();
    Some(format!(
        "waiting for a worker node with {}: there is none; `cynork nodes get NODE` shows what a node has",
        demands.join(" and ")
    ))
}

/// The profile of a task that only admitted nodes run.
fn admitted_profile(task: &Task) -> Option<&AgentProfileName> {
    let agent = task.spec.options.agent.as_ref().filter(|agent| !agent.is_canary);
    agent.map(|agent| &agent.profile)
}

/// The canary run that a node must pass before a task runs there.
struct CanaryWait<'a> {
    profile: &'a AgentProfileName,
    revision: u32,
}

impl<'a> CanaryWait<'a> {
    fn find(task: &'a Task, admissions: &AgentAdmissions) -> Option<Self> {
        let profile = admitted_profile(task)?;
        let revision = admissions.revision(profile.as_str())?;
        Some(Self { profile, revision })
    }

    fn canary(&self) -> String {
        let Self { profile, revision } = self;
        format!("the canary run of agent profile \"{profile}\" (revision {revision})")
    }

    /// Describes what is missing if no node with the features passed it.
    fn describe(
        &self,
        required: &[&str],
        nodes: &[Node],
        admissions: &AgentAdmissions,
    ) -> Option<String> {
        let is_admitted = |node: &Node| {
            required.iter().all(|name| has_feature(node, name))
                && admissions.has_passed(self.profile.as_str(), node.id)
        };
        (!nodes.iter().any(is_admitted)).then(|| {
            let canary = self.canary();
            let command = format!("cynork agent canary {}", self.profile);
            format!("waiting for a worker node that passed {canary}; run `{command}`")
        })
    }
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
