//! Slow plans: the run holds no lease meanwhile, and resumes when the plan is stored.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use cynode_domain::ids::HolderId;
use cynode_execution::WorkflowService;
use cynode_execution::{
    handoff::HandoffChatEvents, handoff::HandoffError, handoff::HandoffOptions,
    handoff::HandoffService, handoff::ProjectManager,
};
use cynode_resources::Signals;
use cynode_runtime::clock::SharedClock;
use cynode_wire::handoff::HandoffKind;
use cynode_wire::planning::{PlanRun, PlanningView};
use cynode_wire::workflow::{
    ClaimRun, GrantView, GraphVersions, LeaseToken, ReleaseLease, StartRun,
};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::catalogue::Catalogue;
use crate::engines::on_each_engine;

on_each_engine! {
    a_run_whose_plan_takes_long_holds_no_lease_and_goes_on_when_the_plan_is_there,
    a_plan_that_came_while_the_lease_was_given_back_is_not_missed,
}

/// Plans when it is released.
struct GatedPlanner(Semaphore);

#[async_trait]
impl ProjectManager for GatedPlanner {
    fn is_configured(&self) -> bool {
        true
    }

    async fn send_handoff(
        &self,
        _: HandoffKind,
        _: Value,
        _: Duration,
    ) -> Result<Value, HandoffError> {
        self.0.acquire().await.unwrap().forget();
        let step =
            json!({ "action": { "kind": "command", "line": "true" }, "expected_outputs": [] });
        let outcome = json!({ "kind": "planned", "steps": [step], "assumptions": [] });
        Ok(json!({ "outcome": outcome, "decisions": [] }))
    }

    async fn chat(&self, _: Value, _: Duration) -> Result<HandoffChatEvents, HandoffError> {
        Err(HandoffError::Unreachable("it does not talk".to_owned()))
    }
}

struct PlanningFixture {
    manager: Arc<GatedPlanner>,
    workflow: WorkflowService,
    lease: LeaseToken,
    _its: Catalogue,
}

const VERSIONS: Option<GraphVersions> = Some(GraphVersions { oldest: 1, newest: 1 });
const LEASE_MS: Option<u32> = Some(3_600_000);

impl PlanningFixture {
    async fn new() -> Self {
        let fixture = Catalogue::new().await;
        let manager = Arc::new(GatedPlanner(Semaphore::new(0)));
        let store = fixture.world.store.clone();
        let clock: SharedClock = fixture.world.clock.clone();
        let signals = Signals::new(store.engine());
        let handoffs = HandoffService::new(
            store.clone(),
            clock.clone(),
            signals.clone(),
            manager.clone(),
            HandoffOptions::default(),
        );
        let workflow = WorkflowService::new(store, clock, signals).with_handoffs(handoffs);
        let body = StartRun {
            task_id: fixture.task.id,
            holder_id: HolderId::generate(),
            lease_ms: LEASE_MS,
            graph_versions: VERSIONS,
        };
        let lease = workflow.start(&body).await.unwrap().lease;
        Self { manager, workflow, lease, _its: fixture }
    }

    async fn plan(&self, lease: LeaseToken, wait_ms: u32) -> PlanningView {
        self.workflow.plan(PlanRun { lease, answers: vec![], wait_ms }).await.unwrap()
    }

    /// Releases the lease, as a runner does that must wait.
    async fn wait(&self) {
        let reason = Some("it waits for a plan of the project manager".to_owned());
        let body = ReleaseLease { reason, is_waiting: true, ..ReleaseLease::new(self.lease) };
        self.workflow.release(body).await.unwrap();
    }

    async fn claim(&self, wait_ms: u32) -> Option<GrantView> {
        let body = json!({
            "holder_id": HolderId::generate(), "lease_ms": LEASE_MS, "wait_ms": wait_ms,
            "graph_versions": VERSIONS,
        });
        let body: ClaimRun = serde_json::from_value(body).unwrap();
        self.workflow.claim(&body).await.unwrap().grant
    }
}

async fn a_run_whose_plan_takes_long_holds_no_lease_and_goes_on_when_the_plan_is_there() {
    let planning = PlanningFixture::new().await;
    let view = planning.plan(planning.lease, 0).await;
    assert!(matches!(view, PlanningView::Waiting { .. }), "{view:?}");

    planning.wait().await;
    assert!(planning.claim(0).await.is_none(), "a run is not claimed while its plan is being made");
    planning.manager.0.add_permits(1);
    let grant = planning.claim(30_000).await.unwrap();

    let [effect] = &grant.effects[..] else { panic!("{:?}", grant.effects) };
    assert_eq!(
        (effect.key.as_str(), &effect.answer["status"]),
        ("1/plan_steps/plan", &json!("planned"))
    );
    assert_eq!(effect.answer["steps"][0]["action"]["line"], "true");
}

async fn a_plan_that_came_while_the_lease_was_given_back_is_not_missed() {
    let planning = PlanningFixture::new().await;
    planning.plan(planning.lease, 0).await;
    planning.manager.0.add_permits(1);
    let view = planning.plan(planning.lease, 30_000).await;
    assert!(matches!(view, PlanningView::Planned { .. }), "{view:?}");

    // The runner was not signalled in time.
    planning.wait().await;

    let grant = planning.claim(0).await.unwrap();
    assert_eq!(grant.effects.len(), 1);
}
