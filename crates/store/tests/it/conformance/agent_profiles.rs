//! Tests of agent profiles and canary runs.

use cynode_domain::ids::{AgentProfileId, JobId, NodeId, TaskId};
use cynode_store::{AgentCanary, AgentProfile, ProfileAdmission, Store};
use serde_json::json;

use crate::world::{World, at};

fn profile(world: &World, name: &str, program: &str) -> AgentProfile {
    let program = json!({ "kind": "acp", "command": [program], "env": { "A": "b" } });
    let spec = json!({ "description": "an agent", "program": program, "hosts": ["*.example.com"] });
    AgentProfile {
        id: AgentProfileId::generate(),
        name: name.parse().unwrap(),
        revision: 1,
        spec: serde_json::from_value(spec).unwrap(),
        created_by: world.user,
        created_at: at(0),
        updated_at: at(1),
        is_deleted: false,
    }
}

fn canary(of: &AgentProfile, node: NodeId, is_passed: bool) -> AgentCanary {
    AgentCanary {
        profile: of.name.clone(),
        revision: of.revision,
        node,
        is_passed,
        report: json!({ "checks": [] }),
        job: JobId::generate(),
        task: TaskId::generate(),
        reported_at: at(2),
    }
}

async fn put(world: &World, profile: &AgentProfile) -> bool {
    let row = profile.clone();
    write_tx!(world.store, tx => tx.agent_profile_put(&row).await)
}

async fn report(world: &World, canary: &AgentCanary) {
    let row = canary.clone();
    write_tx!(world.store, tx => tx.agent_canary_put(&row).await);
}

async fn admissions(world: &World) -> Vec<ProfileAdmission> {
    read_tx!(world.store, tx => tx.agent_admission_list().await)
}

fn admission(of: &AgentProfile, node: Option<NodeId>) -> ProfileAdmission {
    ProfileAdmission { profile: of.name.to_string(), revision: of.revision, node }
}

pub(crate) async fn a_profile_is_replaced_by_its_next_revision_only(store: Store) {
    let world = World::new(store).await;
    let first = profile(&world, "opencode", "opencode");
    assert!(put(&world, &first).await);
    for revision in [1, 3] {
        let stale = AgentProfile { revision, ..first.clone() };
        assert!(!put(&world, &stale).await, "{revision}");
    }
    let other = AgentProfile { revision: 1, ..profile(&world, "aider", "aider") };
    assert!(put(&world, &other).await);

    let second = AgentProfile { revision: 2, updated_at: at(3), ..first.clone() };
    assert!(put(&world, &second).await);

    let all = read_tx!(world.store, tx => tx.agent_profile_list().await);
    assert_eq!(all, [other, second.clone()]);
    assert_eq!(read_tx!(world.store, tx => tx.agent_profile_get("opencode").await), Some(second));
}

pub(crate) async fn a_profile_continues_the_revisions_of_a_deleted_one(store: Store) {
    let world = World::new(store).await;
    let first = profile(&world, "opencode", "opencode");
    let node = world.node("n1").await;
    put(&world, &first).await;
    report(&world, &canary(&first, node, true)).await;

    assert!(write_tx!(world.store, tx => tx.agent_profile_delete("opencode").await));
    assert!(!write_tx!(world.store, tx => tx.agent_profile_delete("opencode").await));

    assert_eq!(read_tx!(world.store, tx => tx.agent_profile_get("opencode").await), None);
    assert_eq!(read_tx!(world.store, tx => tx.agent_canary_list().await), []);
    assert_eq!(admissions(&world).await, []);
    let name = first.name.clone();
    let kept = write_tx!(world.store, tx => tx.agent_profile_lock(&name).await).unwrap();
    assert_eq!(kept, AgentProfile { is_deleted: true, ..first.clone() });
    let again = AgentProfile { revision: 2, ..profile(&world, "opencode", "another") };
    assert!(put(&world, &again).await);
    assert_eq!(admissions(&world).await, [admission(&again, None)]);
}

pub(crate) async fn the_newest_canary_run_of_a_revision_admits_a_node_or_not(store: Store) {
    let world = World::new(store).await;
    let (one, two) = (world.node("n1").await, world.node("n2").await);
    let first = profile(&world, "opencode", "opencode");
    put(&world, &first).await;
    assert_eq!(admissions(&world).await, [admission(&first, None)]);

    let (older, newer) = (canary(&first, one, true), canary(&first, one, false));
    report(&world, &older).await;
    report(&world, &canary(&first, two, false)).await;
    assert_eq!(admissions(&world).await, [admission(&first, Some(one))]);

    report(&world, &newer).await;
    assert_eq!(admissions(&world).await, [admission(&first, None)]);
    report(&world, &older).await;
    assert_eq!(admissions(&world).await, [admission(&first, None)], "a newer job has failed");
    let newest = canary(&first, one, true);
    report(&world, &newest).await;
    assert_eq!(admissions(&world).await, [admission(&first, Some(one))]);
    let listed = read_tx!(world.store, tx => tx.agent_canary_list().await);
    assert!(listed.contains(&newest) && listed.len() == 2, "{listed:?}");

    let second = AgentProfile { revision: 2, ..first };
    put(&world, &second).await;
    assert_eq!(admissions(&world).await, [admission(&second, None)]);
    assert_eq!(read_tx!(world.store, tx => tx.agent_canary_list().await), []);
}
