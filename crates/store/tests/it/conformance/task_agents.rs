//! Tests of agents and their checkpoints.

use cynode_domain::agent::{Activity, Role};
use cynode_domain::ids::{AgentId, CheckpointId, TaskId};
use cynode_domain::status::AgentStatus;
use cynode_store::{AgentCheckpoint, Store, TaskAgent};

use crate::world::{World, at};

pub(crate) fn role(name: &str) -> Role {
    name.parse().unwrap()
}

pub(crate) fn agent(task: TaskId, name: &str) -> TaskAgent {
    TaskAgent {
        id: AgentId::generate(),
        task,
        role: role(name),
        holder: format!("token:{name}"),
        job: None,
        status: AgentStatus::Running,
        activity: Some(Activity::Thinking),
        progress: Some("half".to_owned()),
        context_usage: Some(40),
        artifacts: vec!["a.rs".to_owned()],
        started_at: at(1),
        last_heartbeat_at: at(2),
        ended_at: None,
    }
}

async fn add(store: &Store, agent: &TaskAgent) -> bool {
    let agent = agent.clone();
    write_tx!(store, tx => tx.agent_insert(&agent).await)
}

pub(crate) async fn an_agent_is_found_by_its_role_and_by_its_holder(store: Store) {
    let world = World::new(store).await;
    let task = world.task("t").await;
    let (dev, other) = (agent(task, "developer"), agent(task, "tester"));
    assert!(add(&world.store, &dev).await && add(&world.store, &other).await);

    let by_role = read_tx!(world.store, tx => tx.agent_in_role(task, &role("developer")).await);
    let by_holder = read_tx!(world.store, tx => tx.agent_of_holder(task, "token:tester").await);
    let nobody = read_tx!(world.store, tx => tx.agent_of_holder(task, "token:x").await);

    assert_eq!((by_role, by_holder, nobody), (Some(dev.clone()), Some(other.clone()), None));
    let all = read_tx!(world.store, tx => tx.agent_list(task, 1).await);
    assert_eq!(all, [other], "newest first, up to the limit");
}

pub(crate) async fn a_role_has_one_open_life_and_the_newest_counts(store: Store) {
    let world = World::new(store).await;
    let task = world.task("t").await;
    let (mut first, second) = (agent(task, "developer"), agent(task, "developer"));
    assert!(add(&world.store, &first).await);
    assert!(!add(&world.store, &second).await, "the role is taken");
    first.status = AgentStatus::Completed;
    first.ended_at = Some(at(9));
    let ended = first.clone();

    assert!(write_tx!(world.store, tx => tx.agent_update(&ended).await));
    assert!(add(&world.store, &second).await);

    let now = read_tx!(world.store, tx => tx.agent_in_role(task, &role("developer")).await);
    assert_eq!(now, Some(second));
    let again = TaskAgent { status: AgentStatus::Running, ..first };
    assert!(!write_tx!(world.store, tx => tx.agent_update(&again).await), "ended stays ended");
}

pub(crate) async fn the_newest_agent_checkpoints_of_a_role_are_kept(store: Store) {
    let world = World::new(store).await;
    let task = world.task("t").await;
    let dev = agent(task, "developer");
    add(&world.store, &dev).await;
    let made: Vec<_> = (0..4)
        .map(|number| AgentCheckpoint {
            id: CheckpointId::generate(),
            task,
            role: dev.role.clone(),
            agent: dev.id,
            summary: format!("step {number}"),
            completed_items: vec!["a".to_owned()],
            pending_items: vec!["b".to_owned(), "ü".to_owned()],
            active_files: vec![],
            notes: Some("mind the gap".to_owned()),
            created_at: at(number),
        })
        .collect();
    for checkpoint in made.clone() {
        write_tx!(world.store, tx => tx.agent_checkpoint_insert(&checkpoint, 3).await);
    }

    let kept =
        read_tx!(world.store, tx => tx.agent_checkpoint_list(task, &role("developer"), 9).await);
    let others =
        read_tx!(world.store, tx => tx.agent_checkpoint_list(task, &role("tester"), 9).await);

    assert_eq!(kept, [made[3].clone(), made[2].clone(), made[1].clone()]);
    assert_eq!(others, []);
}
