//! Every trigger starts the same run; only the record names the trigger.

use cynode_domain::ids::HolderId;
use cynode_domain::start::Trigger;
use cynode_execution::WorkflowService;
use cynode_resources::Signals;
use cynode_wire::tasks::CreateTask;
use cynode_wire::workflow::{ClaimRun, StartRun};
use serde_json::json;

use crate::catalogue::Catalogue;
use crate::engines::on_each_engine;

on_each_engine! {
    every_trigger_makes_a_run_that_can_be_claimed_and_says_what_it_was,
}

async fn every_trigger_makes_a_run_that_can_be_claimed_and_says_what_it_was() {
    let fixture = Catalogue::new().await;
    let (store, clock) = (fixture.world.store.clone(), fixture.world.clock.clone());
    let workflow = WorkflowService::new(store.clone(), clock, Signals::new(store.engine()));
    let holder_id = HolderId::generate();
    let (lease_ms, graph_versions) = (Some(3_600_000), None);
    let of_catalogue = StartRun { task_id: fixture.task.id, holder_id, lease_ms, graph_versions };
    workflow.start(&of_catalogue).await.unwrap();

    // A fork needs a run with history; `a_run_is_forked_from_any_row_into_a_task_of_its_own` starts one.
    for trigger in Trigger::ALL.iter().copied().filter(|trigger| *trigger != Trigger::Fork) {
        let request = json!({ "input_mode": "commands", "commands": ["true"] });
        let request: CreateTask = serde_json::from_value(request).unwrap();
        let task =
            fixture.tasks.create_with_trigger(fixture.bob(), trigger, request).await.unwrap();

        let claim = ClaimRun { holder_id, lease_ms, wait_ms: 0, max: None, graph_versions };
        let grant = workflow.claim(&claim).await.unwrap().grant.unwrap();
        assert_eq!((grant.lease.task_id, Some(grant.run_id)), (task.id, task.run_id));

        let mut events = fixture.world.events(Some(task.id)).await.into_iter();
        let created = events.find(|event| event.kind == "task.created");
        assert_eq!(created.unwrap().data["trigger"], trigger.as_str());
    }
}
