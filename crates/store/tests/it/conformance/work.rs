//! Tests of work plans and their units.

use cynode_domain::ids::TaskId;
use cynode_domain::status::WorkUnitStatus;
use cynode_domain::work::{UnitKind, WorkComponent};
use cynode_store::{Store, WorkPlan, WorkUnit};
use serde_json::json;

use super::task_agents::agent;
use crate::world::{World, at};

fn plan(task: TaskId) -> WorkPlan {
    let component = WorkComponent {
        name: "auth".to_owned(),
        description: "signing in".to_owned(),
        priority: -3,
        dependencies: vec!["db".to_owned()],
        skip_design: true,
        skip_review: false,
        units: vec![],
    };
    let (issue_number, completed_at) = (Some(7), None);
    WorkPlan { task, issue_number, components: vec![component], created_at: at(1), completed_at }
}

fn unit(task: TaskId, id: &str, position: u32) -> WorkUnit {
    WorkUnit {
        task,
        id: id.to_owned(),
        position,
        component: "auth".to_owned(),
        kind: UnitKind::Implementation,
        status: WorkUnitStatus::Pending,
        role: "developer".to_owned(),
        agent: None,
        parent: Some("spec:auth".to_owned()),
        artifact_path: None,
        summary: None,
        metadata: None,
        notes: None,
        revision_count: 0,
        revision_feedback: None,
        assigned_at: None,
        completed_at: None,
        updated_at: at(1),
    }
}

pub(crate) async fn a_plan_of_work_reads_back_with_its_units_in_order(store: Store) {
    let world = World::new(store).await;
    let task = world.task("t").await;
    let made = plan(task);
    let units = [unit(task, "z:auth", 0), unit(task, "a:auth", 1)];
    let (insert, of_it) = (made.clone(), units.clone());

    assert!(write_tx!(world.store, tx => tx.work_plan_insert(&insert, &of_it).await));

    assert_eq!(read_tx!(world.store, tx => tx.work_plan_get(task).await), Some(made));
    assert_eq!(read_tx!(world.store, tx => tx.work_unit_list(task).await), units);
    let one = read_tx!(world.store, tx => tx.work_unit_get(task, "a:auth").await);
    assert_eq!(one, Some(units[1].clone()));
    assert_eq!(read_tx!(world.store, tx => tx.work_unit_get(task, "b").await), None);
}

pub(crate) async fn a_task_has_one_plan_of_work(store: Store) {
    let world = World::new(store).await;
    let task = world.task("t").await;
    let (first, second) = (plan(task), WorkPlan { issue_number: None, ..plan(task) });
    let units = [unit(task, "a", 0)];
    assert!(write_tx!(world.store, tx => tx.work_plan_insert(&first, &[]).await));

    assert!(!write_tx!(world.store, tx => tx.work_plan_insert(&second, &units).await));

    let kept = read_tx!(world.store, tx => tx.work_plan_get(task).await).unwrap();
    assert_eq!(kept.issue_number, Some(7));
    assert_eq!(read_tx!(world.store, tx => tx.work_unit_list(task).await), []);
    assert!(write_tx!(world.store, tx => tx.work_plan_complete(task, at(8)).await));
    assert!(!write_tx!(world.store, tx => tx.work_plan_complete(task, at(9)).await));
}

pub(crate) async fn a_closed_work_unit_never_changes(store: Store) {
    let world = World::new(store).await;
    let task = world.task("t").await;
    let (made, new, doer) = (plan(task), unit(task, "a", 0), agent(task, "developer"));
    let moved = WorkUnit {
        status: WorkUnitStatus::Completed,
        agent: Some(doer.id),
        artifact_path: Some("src/a.rs".to_owned()),
        summary: Some("did it".to_owned()),
        metadata: Some(json!({ "verdict": "good" })),
        notes: Some("note".to_owned()),
        revision_count: 2,
        revision_feedback: Some(json!("text")),
        assigned_at: Some(at(2)),
        completed_at: Some(at(3)),
        updated_at: at(3),
        ..new.clone()
    };
    write_tx!(world.store, tx => {
        tx.agent_insert(&doer).await?;
        tx.work_plan_insert(&made, &[new]).await
    });
    let (done, again) =
        (moved.clone(), WorkUnit { status: WorkUnitStatus::Pending, ..moved.clone() });

    assert!(write_tx!(world.store, tx => tx.work_unit_update(&done).await));
    assert!(!write_tx!(world.store, tx => tx.work_unit_update(&again).await));

    assert_eq!(read_tx!(world.store, tx => tx.work_unit_get(task, "a").await), Some(moved));
}
