//! Random histories of requests: whatever agents, reviewers and people do, no unit is lost or run twice at once, nothing starts
//! before what it needs, no budget is exceeded, and every history ends or asks a person.

use std::collections::BTreeMap;

use cynode_domain::ids::TaskId;
use cynode_domain::question::{Reply, ReplyForm};
use cynode_domain::request::{DeliveryMode, RequestSettings};
use cynode_domain::request_budget::CallPurpose;
use cynode_domain::status::{ShownTaskStatus, WorkUnitStatus};
use cynode_domain::work::UnitKind;
use cynode_store::SpendingLimits;
use cynode_wire::requests::{RequestUnitView, RequestView, SubmitRequest};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;

use crate::world::{ChildEnd, RequestFixture, patch, review, submission, unit_of};

/// The most steps of a history whose agents succeed after its random part.
const MAX_STEPS: usize = 400;
const REFUSED: &str = "the budget of this request is spent: all of it";
/// What one call may cost.
const CALL_MICROS: i64 = 100;

/// A plan, limits, and what happens in it.
#[derive(Debug, Clone)]
struct History {
    /// For each component, whether it depends on each one before it.
    needs: Vec<Vec<bool>>,
    scope: &'static str,
    max_parallel_units: u32,
    /// How many units of each kind run at once, in the order of [`UnitKind::ALL`].
    role_limits: [u32; 5],
    max_review_rounds: u32,
    require_tests_pass: bool,
    budget_calls: Option<i64>,
    acts: Vec<Act>,
}

/// One event of a history.
#[derive(Debug, Clone, Copy)]
struct Act {
    /// Which of the open child tasks ends.
    child: usize,
    end: End,
    /// Which of the accepted replies a person gives.
    reply: usize,
    /// How many model calls the agent makes before.
    calls: u8,
}

#[derive(Debug, Clone, Copy)]
enum End {
    Succeeds,
    Fails,
    /// The changes that it builds on conflict.
    Conflicts,
    /// The reviewer requests changes; other agents succeed.
    Rejects(u8),
    /// Tests are deleted; reviewers leave no report.
    Cheats,
}

fn histories() -> impl Strategy<Value = History> {
    let end = prop_oneof![
        4 => Just(End::Succeeds),
        2 => Just(End::Fails),
        1 => Just(End::Conflicts),
        3 => (0..3_u8).prop_map(End::Rejects),
        1 => Just(End::Cheats),
    ];
    let act = (0..4_usize, end, 0..4_usize, 0..3_u8).prop_map(|(child, end, reply, calls)| Act {
        child,
        end,
        reply,
        calls,
    });
    let needs = prop::collection::vec(prop::collection::vec(any::<bool>(), 3), 1..4);
    let budget = prop::option::of(2..12_i64);
    (
        needs,
        prop_oneof![Just("small"), Just("medium")],
        (1..7_u32, prop::array::uniform5(1..4_u32)),
        0..3_u32,
        any::<bool>(),
        budget,
        prop::collection::vec(act, 0..30),
    )
        .prop_map(
            |(
                needs,
                scope,
                (parallel, role_limits),
                rounds,
                require_tests_pass,
                budget_calls,
                acts,
            )| History {
                needs,
                scope,
                max_parallel_units: parallel,
                role_limits,
                max_review_rounds: rounds,
                require_tests_pass,
                budget_calls,
                acts,
            },
        )
}

#[test]
fn every_history_ends_or_asks_and_keeps_its_rules() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let world = runtime.block_on(RequestFixture::sqlite());
    let config = Config { cases: 24, max_shrink_iters: 30, ..Config::default() };
    let mut runner = TestRunner::new(config);
    runner
        .run(&histories(), |history| {
            runtime.block_on(Box::pin(live(&world, &history)));
            Ok(())
        })
        .unwrap();
}

/// Lives through a history, and checks every state of it.
async fn live(world: &RequestFixture, history: &History) {
    let names = ["a", "b", "c"];
    let needed: Vec<(&str, Vec<&str>)> = history
        .needs
        .iter()
        .enumerate()
        .map(|(index, row)| {
            let before = (0..index).filter(|other| row[*other]).map(|other| names[other]);
            (names[index], before.collect())
        })
        .collect();
    let components: Vec<(&str, &[&str])> =
        needed.iter().map(|(name, needs)| (*name, needs.as_slice())).collect();
    world.plan(history.scope, &components);
    let settings = RequestSettings {
        deliver: DeliveryMode::Patch,
        max_parallel_units: history.max_parallel_units,
        max_review_rounds: history.max_review_rounds,
        require_tests_pass: history.require_tests_pass,
        budget_micros: history.budget_calls.map(|calls| calls * CALL_MICROS),
        ..RequestSettings::default()
    };
    for (kind, limit) in UnitKind::ALL.iter().zip(history.role_limits) {
        let key = format!("pm.max_parallel.{}", kind.role());
        world.set(&key, json!(limit)).await.unwrap();
    }
    let body = SubmitRequest { force: true, ..submission(settings) };
    world.add_provider().await;
    let view = world.requests.submit(&world.bob, body).await.unwrap();
    world.advance().await;
    world.end_context(view.id).await;
    let planned: Vec<String> =
        world.get(&view).await.units.into_iter().map(|unit| unit.id).collect();
    assert!(!planned.is_empty());

    let succeeds = Act { child: 0, end: End::Succeeds, reply: 0, calls: 0 };
    let acts = history.acts.iter().copied().chain(std::iter::repeat(succeeds));
    for act in acts.take(MAX_STEPS) {
        let now = world.get(&view).await;
        check(world, &now, &planned, history).await;
        if now.ended_at.is_some() {
            check_end(&now);
            return;
        }
        step(world, &now, act).await;
    }
    panic!("the history does not end: {:#?}", world.get(&view).await);
}

/// Lets one thing happen: a person answers, or a child task ends.
async fn step(world: &RequestFixture, view: &RequestView, act: Act) {
    world.clock.advance(std::time::Duration::from_secs(1));
    if let Some(asked) = &view.question {
        // A person who says no ends every history; the others are what is tested.
        let accepts: Vec<_> =
            asked.question.accepts.iter().filter(|form| **form != ReplyForm::No).collect();
        let reply = match accepts[act.reply % accepts.len()] {
            ReplyForm::Yes => Reply::Yes {},
            ReplyForm::Text => Reply::Text { text: "do it another way".to_owned() },
            ReplyForm::Retry | ReplyForm::No | ReplyForm::Commands | ReplyForm::Script => {
                Reply::Retry {}
            }
        };
        world.answer(view, reply).await;
        return;
    }
    let open = world.open_children(view.id).await;
    assert!(!open.is_empty(), "nothing runs, nothing is asked: {view:#?}");
    let child = &open[act.child % open.len()];
    let (unit, child) = (unit_of(child), child.spec.id);
    let mut is_refused = false;
    for _ in 0..act.calls {
        is_refused |= !call_model(world, view.id, child).await;
    }
    let end = if is_refused {
        ChildEnd::Failed("the model does not answer".to_owned())
    } else {
        ending(&unit, act.end)
    };
    world.end_child(child, end).await;
    world.advance().await;
}

/// Makes a model call as the egress does: reserved before it is made, and refused if the budget does not cover it.
async fn call_model(world: &RequestFixture, request: TaskId, child: TaskId) -> bool {
    let user = world.bob.user;
    let facts = world
        .store
        .read(move |tx| Box::pin(async move { tx.caller_facts(user, Some(child)).await }));
    let facts: Result<_, cynode_store::Error> = facts.await;
    let found = facts.unwrap().request.unwrap();
    assert_eq!(found.task, request);
    let purpose = CallPurpose::of_unit(found.unit.as_deref());
    let limit = found.settings.spending_limit(purpose);
    let call = world.new_call(child, Some(CALL_MICROS), None);
    let limits =
        SpendingLimits { request: limit.map(|most| (found.task, most)), ..Default::default() };
    let is_made = world.store.inference_reserve(&call, limits).await.unwrap();
    if !is_made {
        world.record_call(child, None, Some(REFUSED)).await;
    }
    is_made
}

fn ending(unit: &str, end: End) -> ChildEnd {
    let is_review = unit.starts_with("review:");
    let is_command = unit.starts_with("test:") || unit == "context";
    match end {
        End::Fails => ChildEnd::Failed("it failed".to_owned()),
        End::Conflicts => ChildEnd::Failed("could not start: merge conflict: a".to_owned()),
        End::Rejects(what) if is_review => review(false, &format!("part {what} is missing")),
        End::Cheats if is_review => ChildEnd::Nothing,
        _ if is_review => review(true, "x.rs:1"),
        _ if is_command => ChildEnd::Nothing,
        End::Cheats => ChildEnd::Patch(
            "diff --git a/tests/a.rs b/tests/a.rs\ndeleted file mode 100644\n@@ -1 +0,0 @@\n-x\n"
                .to_owned(),
        ),
        End::Succeeds | End::Rejects(_) => patch("x.rs"),
    }
}

async fn check(world: &RequestFixture, view: &RequestView, planned: &[String], history: &History) {
    let units: BTreeMap<&str, &RequestUnitView> =
        view.units.iter().map(|unit| (unit.id.as_str(), unit)).collect();
    assert!(
        units
            .keys()
            .copied()
            .eq(planned.iter().map(String::as_str).collect::<std::collections::BTreeSet<_>>()),
        "a unit is lost: {view:#?}"
    );
    let open = world.open_children(view.id).await;
    let mut running: BTreeMap<String, u32> = BTreeMap::new();
    for child in &open {
        assert!(child.spec.options.retry_interrupted, "a killed node would ask a person");
        *running.entry(unit_of(child)).or_default() += 1;
    }
    assert!(running.values().all(|count| *count == 1), "a unit runs twice: {running:?}");
    assert!(running.len() <= history.max_parallel_units as usize, "too many run: {running:?}");
    check_role_limits(view, &running, history);
    for unit in running.keys().filter_map(|unit| units.get(unit.as_str())) {
        for before in &unit.depends_on {
            let before = units[before.as_str()];
            let is_foreign = before.component != unit.component;
            let is_approved =
                matches!(before.status, WorkUnitStatus::Approved | WorkUnitStatus::Routed);
            // What a review judges may be revised while it runs; its report is discarded then.
            let is_passed = before.status == WorkUnitStatus::Completed
                || (!is_foreign && (is_approved || is_judging(unit)));
            assert!(is_passed, "{} runs before {} is {}", unit.id, before.id, before.status);
        }
    }
    let attempts = world.attempts(view.id).await;
    let order: Vec<u32> = attempts.iter().map(|known| known.sequence).collect();
    assert!(order.iter().copied().eq(1..=u32::try_from(order.len()).unwrap()), "{order:?}");
    if let Some(budget) = view.settings.budget_micros {
        let task = view.id;
        let cost = world.store.read(move |tx| Box::pin(async move { tx.request_cost(task).await }));
        let cost: Result<i64, cynode_store::Error> = cost.await;
        let cost = cost.unwrap();
        assert!(cost <= budget, "{cost} of {budget}");
    }
}

/// No role has more units than its limit, and a unit that may start waits only for a place.
fn check_role_limits(view: &RequestView, running: &BTreeMap<String, u32>, history: &History) {
    let of = |kind: UnitKind| {
        let runs = |unit: &&RequestUnitView| unit.kind == kind && running.contains_key(&unit.id);
        view.units.iter().filter(runs).count()
    };
    for (kind, limit) in UnitKind::ALL.iter().zip(history.role_limits) {
        let count = of(*kind);
        assert!(count <= limit as usize, "{count} units of {kind} run, allowed are {limit}");
        let has_place =
            count < limit as usize && running.len() < history.max_parallel_units as usize;
        let is_completed = |id: &String| {
            let unit = view.units.iter().find(|unit| unit.id == *id).unwrap();
            unit.status == WorkUnitStatus::Completed
        };
        for unit in view.units.iter().filter(|unit| unit.kind == *kind) {
            let may_start = unit.status == WorkUnitStatus::Assigned
                && unit.depends_on.iter().all(is_completed)
                && !running.contains_key(&unit.id);
            let is_going_on = view.question.is_none() && view.ended_at.is_none();
            let is_kept_waiting = may_start && has_place && is_going_on;
            assert!(!is_kept_waiting, "{} starves: {view:#?}", unit.id);
        }
    }
}

fn is_judging(unit: &RequestUnitView) -> bool {
    unit.id.starts_with("review:") || unit.id.starts_with("test:")
}

fn check_end(view: &RequestView) {
    if view.status == ShownTaskStatus::Completed {
        for unit in &view.units {
            assert_eq!(unit.status, WorkUnitStatus::Completed, "{view:#?}");
        }
    } else {
        assert_eq!(view.status, ShownTaskStatus::Failed, "{view:#?}");
    }
}
