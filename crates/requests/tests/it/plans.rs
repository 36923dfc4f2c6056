//! Plans before work starts: who is to work, and what it is expected to cost.

use cynode_domain::estimate::EstimateRange;
use cynode_domain::request::{DecisionAuthor, RequestSettings};
use cynode_domain::status::ShownTaskStatus;
use cynode_domain::work::UnitKind;
use cynode_requests::RequestError;
use cynode_wire::requests::OverrideRequest;
use serde_json::json;

use crate::world::{RequestFixture, patch, unit_of};

fn dry_run() -> RequestSettings {
    RequestSettings { dry_run: true, ..RequestSettings::default() }
}

#[tokio::test]
async fn a_dry_run_says_who_would_work_with_which_model_and_at_what_cost() {
    let world = RequestFixture::sqlite().await;
    world.set("models.prices", json!({ "far/m": { "input": 1.0, "output": 10.0 } })).await.unwrap();
    world.set("pm.agents", json!([{ "units": ["review"], "model_hint": "strong" }])).await.unwrap();
    let view = world.submit(dry_run()).await;
    assert_eq!(view.estimate, None, "nothing is planned yet");
    world.end_context(view.id).await;

    let view = world.get(&view).await;

    assert_eq!(view.status, ShownTaskStatus::Completed, "{view:#?}");
    assert!(view.units.iter().all(|unit| unit.attempts.is_empty()), "{view:#?}");
    let estimate = view.estimate.unwrap();
    let rows: Vec<_> = estimate
        .units
        .iter()
        .map(|unit| {
            [
                unit.unit.clone(),
                unit.role.clone(),
                unit.agent.clone().unwrap_or_default(),
                unit.model_hint.clone().unwrap_or_default(),
                unit.model.clone().unwrap_or_default(),
            ]
        })
        .collect();
    assert_eq!(
        rows,
        [
            ["impl:main", "developer", "sba", "fast", "far/m"],
            ["review:main", "reviewer", "sba", "strong", "far/m"],
        ]
    );
    // One pass at least; two review rounds more at most.
    assert_eq!(estimate.model_calls, EstimateRange { low: 6, high: 90 });
    assert_eq!(estimate.cost_micro_usd, Some(EstimateRange { low: 26_000, high: 2_220_000 }));
    assert_eq!((view.model_calls, view.cost_micro_usd), (Some(0), Some(0)));
}

#[tokio::test]
async fn a_role_has_no_more_units_at_once_than_its_limit_and_others_go_on() {
    let world = RequestFixture::sqlite().await;
    world.set("pm.max_parallel.architect", json!(1)).await.unwrap();
    let refused = world.set("pm.max_parallel.coder", json!(1)).await.unwrap_err();
    assert!(refused.contains("pm.max_parallel.developer"), "{refused}");
    world.plan("medium", &[("a", &[]), ("b", &[]), ("c", &[])]);
    let view = world.submit(RequestSettings::default()).await;
    world.end_context(view.id).await;
    let running = async || {
        let mut units: Vec<_> = world.open_children(view.id).await.iter().map(unit_of).collect();
        units.sort();
        units
    };
    assert_eq!(running().await, ["spec:a"]);

    world.end(view.id, "spec:a", patch("a.md")).await;
    assert_eq!(running().await, ["impl:a", "spec:b"]);
    world.end(view.id, "spec:b", patch("b.md")).await;
    assert_eq!(running().await, ["impl:a", "impl:b", "spec:c"]);

    world.set("pm.max_parallel.architect", json!(3)).await.unwrap();
    let other = world.submit_in(None, "Add a page to the site").await;
    world.end_context(other.id).await;
    let specs = world.open_children(other.id).await.iter().map(unit_of).collect::<Vec<_>>();
    assert_eq!(specs.len(), 3, "the limit is one of each request: {specs:?}");
}

#[tokio::test]
async fn a_person_chooses_the_workflow_with_a_reason() {
    let world = RequestFixture::sqlite().await;
    world.plan("medium", &[("a", &[])]);
    let view = world.submit(RequestSettings::default()).await;
    let decide =
        async |body| world.requests.override_decisions(&world.bob, &view.id.into(), body).await;
    let workflow = |units: &[UnitKind]| OverrideRequest {
        workflow: Some(units.to_vec()),
        reason: Some("  the design is risky ".to_owned()),
        ..OverrideRequest::default()
    };
    let none: &[UnitKind] = &[];
    for units in [none, &[UnitKind::Review], &[UnitKind::Implementation; 2]] {
        let refused = decide(workflow(units)).await.unwrap_err().to_string();
        assert!(refused.contains("needs implementation"), "{refused}");
    }
    let empty = decide(OverrideRequest::default()).await.unwrap_err().to_string();
    assert!(empty.contains("set kind, scope or workflow"), "{empty}");
    let units = [UnitKind::Review, UnitKind::Implementation, UnitKind::Design];
    decide(workflow(&units)).await.unwrap();

    world.end_context(view.id).await;

    let planned = world.get(&view).await;
    let decided = planned.workflow.clone().unwrap();
    let ordered = [UnitKind::Design, UnitKind::Implementation, UnitKind::Review];
    assert_eq!((decided.value.as_slice(), decided.by), (&ordered[..], DecisionAuthor::Person));
    assert_eq!(decided.reason, "decided by bob: the design is risky");
    // The plan of the scripted manager leaves out designs.
    let ids: Vec<_> = planned.units.iter().map(|unit| unit.id.as_str()).collect();
    assert_eq!(ids, ["design:a", "impl:a", "review:a"]);
    world.child(view.id, "design:a").await;
    let late = decide(workflow(&units)).await;
    assert!(matches!(late, Err(RequestError::AlreadyPlanned { .. })), "{late:?}");
}

#[tokio::test]
async fn a_model_without_a_price_is_named_and_its_cost_is_unknown() {
    let world = RequestFixture::sqlite().await;
    let view = world.submit(dry_run()).await;
    world.end_context(view.id).await;

    let estimate = world.get(&view).await.estimate.unwrap();

    assert_eq!(estimate.cost_micro_usd, None);
    assert_eq!(estimate.model_calls.low, 6);
    assert_eq!(estimate.notes.len(), 1);
    assert!(estimate.notes[0].starts_with("cost unknown: no price for far/m"), "{estimate:?}");
}

#[tokio::test]
async fn the_estimate_stays_beside_what_the_work_costs() {
    let world = RequestFixture::sqlite().await;
    let settings = RequestSettings { agent: Some("demo-script".to_owned()), ..dry_run() };
    world.add_provider().await;
    let view = world.submit_in(None, "Add a page to the site").await;
    world.end_context(view.id).await;
    let planned = world.get(&view).await.estimate.unwrap();
    let child = world.child(view.id, "impl:main").await.spec.id;
    world.record_call(child, Some(7), None).await;

    let later = world.get(&view).await;

    assert_eq!(later.estimate, Some(planned));
    assert_eq!((later.model_calls, later.cost_micro_usd), (Some(1), Some(7)));
    // A script calls no model.
    let view = world.submit(settings).await;
    world.end_context(view.id).await;
    let estimate = world.get(&view).await.estimate.unwrap();
    assert_eq!(estimate.model_calls, EstimateRange::default());
    assert_eq!(estimate.units[0].agent.as_deref(), Some("demo-script"));
}
