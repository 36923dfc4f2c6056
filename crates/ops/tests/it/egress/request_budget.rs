//! The budget of a request: counted before each call of any of its child tasks, together.

use cynode_blobs::BlobStore;
use cynode_domain::ids::TaskId;
use cynode_domain::policy::{AgentType, Principal};
use cynode_domain::request::{RequestOrigin, RequestSettings, RequestSource, RequestState};
use cynode_domain::request_budget::is_budget_refusal;
use cynode_domain::status::RequestPhase;
use cynode_execution::tasks::TaskService;
use cynode_models::egress::{Egress, EgressError, Inference};
use cynode_store::WorkRequest;
use cynode_testkit::provider::{Answer, ScriptedProvider};
use cynode_wire::providers::PutProvider;
use cynode_wire::tasks::CreateTask;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};

use super::world::{World, asks, hello, open};

/// What [`hello`] may cost at the usual price.
const MOST: i64 = 10 + 2 * 4096;

/// A request with a budget, and the ids of its child tasks by unit.
async fn request(world: &World, budget_micros: i64, units: &[&str]) -> (TaskId, Vec<TaskId>) {
    let blobs = BlobStore::new(world.data.path().join("blobs"));
    let (clock, signals) = (world.clock.clone(), world.signals.clone());
    let tasks = TaskService::new(world.store.clone(), clock, signals, blobs);
    let create = || CreateTask {
        input_mode: cynode_domain::plan::InputMode::Commands,
        commands: vec!["true".to_owned()],
        ..CreateTask::default()
    };
    let parent = tasks.create(&world.bob, create()).await.unwrap().id;
    let now = cynode_runtime::clock::Clock::now(&*world.clock);
    let row = WorkRequest {
        task: parent,
        phase: RequestPhase::Working,
        source: RequestSource {
            origin: RequestOrigin::Text,
            reference: None,
            labels: vec![],
            is_brief: false,
        },
        settings: RequestSettings {
            budget_micros: Some(budget_micros),
            ..RequestSettings::default()
        },
        state: RequestState::default(),
        question: None,
        asked_at: None,
        text_sha256: "x".to_owned(),
        failures: 0,
        created_at: now,
        updated_at: now,
    };
    let mut children = vec![];
    for unit in units {
        let child = tasks.create(&world.bob, create()).await.unwrap().id;
        children.push((child, (*unit).to_owned()));
    }
    let ids = children.iter().map(|(child, _)| *child).collect();
    let written = world.store.write(move |tx| {
        Box::pin(async move {
            tx.request_insert(&row).await?;
            for (child, unit) in &children {
                tx.task_set_parent(*child, parent, unit).await?;
            }
            Ok::<_, cynode_store::Error>(())
        })
    });
    written.await.unwrap();
    (parent, ids)
}

/// A call of the agent of a task.
fn call_of(world: &World, task: TaskId) -> Inference {
    let agent = Some(Principal::Agent(AgentType::Sandbox));
    Inference { agent, task: Some(task), ..asks(&world.bob) }
}

async fn provide(world: &World, answer: Answer) -> ScriptedProvider {
    let provider = ScriptedProvider::start();
    provider.otherwise(answer);
    world.provide("far", &provider).await;
    world.set("far", "key").await;
    provider
}

fn refusal<T: std::fmt::Debug>(answer: Result<T, EgressError>) -> String {
    match answer {
        Err(EgressError::OverBudget(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

pub(super) async fn units_of_a_request_do_not_pass_its_budget_together(world: World) {
    let provider = provide(&world, Answer::no_response()).await;
    // The budget has room for two calls of work, and for one more review.
    let budget = 3 * MOST + MOST / 2;
    let (parent, children) =
        request(&world, budget, &["impl:a", "impl:b", "impl:c", "review:a"]).await;
    let (here, there) = (&world.egress, world.other_process());
    let ask = |egress: Egress, task| {
        let asks = call_of(&world, task);
        async move { egress.chat(&asks, hello("far/m")).await }.boxed()
    };
    let mut calls: FuturesUnordered<_> = children[..3]
        .iter()
        .flat_map(|child| [ask(here.clone(), *child), ask(there.clone(), *child)])
        .collect();

    for _ in 0..4 {
        let reason = refusal(calls.next().await.unwrap());
        assert!(is_budget_refusal(&reason), "{reason}");
    }
    // Its own decisions count too, and a review may use what is reserved.
    assert!(is_budget_refusal(&refusal(ask(here.clone(), parent).await)));
    let mut review = ask(here.clone(), children[3]);
    tokio::select! {
        () = provider.wait_for_requests(3) => {}
        answer = calls.next() => panic!("{answer:?}"),
        answer = &mut review => panic!("{answer:?}"),
    }

    assert_eq!(provider.requests().len(), 3);
    let cost = world.store.read(move |tx| Box::pin(async move { tx.request_cost(parent).await }));
    assert_eq!(cost.await.unwrap(), 3 * MOST);
}

pub(super) async fn the_budget_of_a_request_limits_no_other_task(world: World) {
    let provider = provide(&world, Answer::text("hi").with_usage(1_000_000, 0)).await;
    let (_, spent) = request(&world, 1_000_000 + MOST / 2, &["review:a", "review:a"]).await;
    let (_, other) = request(&world, 1_000_000 + MOST / 2, &["review:a"]).await;
    world.egress.chat(&call_of(&world, spent[0]), hello("far/m")).await.unwrap();

    let refused = world.egress.chat(&call_of(&world, spent[1]), hello("far/m")).await;
    let of_other = world.egress.chat(&call_of(&world, other[0]), hello("far/m")).await;
    let of_none = world.egress.chat(&asks(&world.bob), hello("far/m")).await;

    // The first call cost more than was left for another one.
    assert!(is_budget_refusal(&refusal(refused)));
    assert!(of_other.is_ok() && of_none.is_ok(), "{of_other:?} {of_none:?}");
    assert_eq!(provider.requests().len(), 3);
}

pub(super) async fn the_budget_of_a_request_holds_in_warn_mode_and_without_a_price(world: World) {
    let provider = provide(&world, Answer::text("hi")).await;
    world.setting("budget.mode", "warn").await;
    world.setting("budget.day_usd", 0).await;
    let (_, children) = request(&world, MOST, &["impl:a"]).await;

    let refused = world.egress.chat(&call_of(&world, children[0]), hello("far/m")).await;
    assert!(is_budget_refusal(&refusal(refused)), "the reserve is a part of it");
    world.egress.chat(&asks(&world.bob), hello("far/m")).await.unwrap();
    let row = PutProvider { prices: [].into(), ..open(&provider) };
    world.provide_as("far", row).await;
    let unpriced = world.egress.chat(&call_of(&world, children[0]), hello("far/m")).await;

    let reason = refusal(unpriced);
    assert!(is_budget_refusal(&reason) && reason.contains("price"), "{reason}");
    assert_eq!(provider.requests().len(), 1);
}
