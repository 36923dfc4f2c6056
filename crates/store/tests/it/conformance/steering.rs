//! Tests of run control: pause, questions and answers, and branching from a transition.

use cynode_domain::ids::{HolderId, UserId};
use cynode_domain::question::{Answer, Question, QuestionKind, Reply, ReplyForm};
use cynode_domain::run::{RunState, RunVerb};
use cynode_domain::status::{RunStatus, TaskStatus};
use cynode_store::{
    BranchSeed, GraphVersionRange, NewRunQuestion, Run, RunAction, RunBranch, RunClaim, RunFilter,
    Store,
};
use cynode_workflow_state::changes::StateRecord;
use serde_json::json;

use crate::world::{World, new_run};

fn claim() -> RunClaim {
    let (holder, versions) = (HolderId::generate(), GraphVersionRange::ANY);
    RunClaim { holder, lease_ms: 60_000, versions, max: 8, started_event: "task.started" }
}

async fn claimed(world: &World) -> usize {
    let claim = claim();
    world.store.run_claim(claim).await.unwrap().len()
}

async fn state(world: &World, run: &Run) -> RunState {
    let id = run.id;
    read_tx!(world.store, tx => tx.run_overview(id).await).unwrap().state
}

fn question() -> Question {
    Question {
        kind: QuestionKind::Approval,
        text: "Shall it?".to_owned(),
        about: vec!["1. make".to_owned()],
        accepts: vec![ReplyForm::Yes, ReplyForm::No],
    }
}

pub(crate) async fn nobody_is_granted_a_paused_run(store: Store) {
    let world = World::new(store).await;
    let run = world.run("a").await;
    let (id, task) = (run.id, run.task);
    let is_paused = write_tx!(world.store, tx => {
        let is_paused = tx.task_pause(task).await?;
        assert!(!tx.task_pause(task).await?, "it is paused already");
        tx.run_update_wait(id).await?;
        Ok::<_, cynode_store::Error>(is_paused)
    });

    assert!(is_paused);
    assert_eq!((claimed(&world).await, state(&world, &run).await), (0, RunState::Paused));
    assert!(world.task_now(task).await.paused_at.is_some());
    assert!(write_tx!(world.store, tx => tx.run_next().await).is_none());

    write_tx!(world.store, tx => {
        assert!(tx.task_resume(task).await?);
        assert!(!tx.task_resume(task).await?, "it goes on already");
        tx.run_update_wait(id).await
    });
    assert_eq!((claimed(&world).await, state(&world, &run).await), (1, RunState::Running));
    write_tx!(world.store, tx => tx.task_pause(task).await);
    assert_eq!(state(&world, &run).await, RunState::Pausing);
}

pub(crate) async fn a_run_waits_for_one_thing_after_the_other(store: Store) {
    let world = World::new(store).await;
    let (run, on) = (world.run("a").await, world.task("b").await);
    let (id, task) = (run.id, run.task);
    let pending = NewRunQuestion {
        run: id,
        task,
        key: "1/plan/ask".to_owned(),
        asked_by: "plan".to_owned(),
        question: question(),
        within_ms: None,
    };
    write_tx!(world.store, tx => {
        tx.dependency_insert(task, on).await?;
        assert!(tx.question_insert(&pending).await?);
        assert!(!tx.question_insert(&pending).await?, "it is asked once");
        tx.task_pause(task).await?;
        tx.run_update_wait(id).await
    });
    assert_eq!(state(&world, &run).await, RunState::Paused);
    // A pause takes precedence over other wait reasons.
    write_tx!(world.store, tx => tx.runs_unblock(None).await);
    write_tx!(world.store, tx => {
        tx.task_resume(task).await?;
        tx.run_update_wait(id).await
    });
    assert_eq!(state(&world, &run).await, RunState::NeedsAnswer);

    let answer = Answer { reply: Some(Reply::Yes {}), comment: None, by: Some("ada".to_owned()) };
    let (kept, user) = (answer.clone(), world.user);
    write_tx!(world.store, tx => {
        let pending = tx.question_last(id).await?.unwrap();
        assert!(tx.question_answer(&pending, &kept, Some(user)).await?);
        assert!(!tx.question_answer(&pending, &kept, Some(user)).await?, "one answer is enough");
        tx.run_update_wait(id).await
    });

    assert_eq!((claimed(&world).await, state(&world, &run).await), (0, RunState::Waiting));
    write_tx!(world.store, tx => {
        tx.task_set_status(on, TaskStatus::Completed, None).await?;
        tx.run_update_wait(id).await
    });
    assert_eq!(state(&world, &run).await, RunState::Queued);
    let pending = read_tx!(world.store, tx => tx.question_list(id).await);
    assert_eq!(
        (pending.len(), &pending[0].answer, &pending[0].question),
        (1, &Some(answer), &question())
    );
    assert!(pending[0].answered_at.is_some());
}

pub(crate) async fn a_question_is_overdue_when_its_time_is_over_and_its_run_is_open(store: Store) {
    let world = World::new(store).await;
    let runs = [world.run("a").await, world.run("b").await, world.run("c").await];
    for (run, within_ms) in runs.iter().zip([Some(0), Some(60_000), Some(0)]) {
        let (key, asked_by) = ("k".to_owned(), "plan".to_owned());
        let (run, task, question) = (run.id, run.task, question());
        let pending = NewRunQuestion { run, task, key, asked_by, question, within_ms };
        write_tx!(world.store, tx => tx.question_insert(&pending).await);
    }
    let ended = runs[2].id;
    write_tx!(world.store, tx => tx.run_set_status(ended, RunStatus::Canceled).await);

    let overdue = read_tx!(world.store, tx => tx.question_list_overdue(10).await);

    assert_eq!(overdue.len(), 1);
    assert_eq!((overdue[0].run, overdue[0].answer.clone()), (runs[0].id, None));
    assert!(overdue[0].answer_by.is_some());
}

pub(crate) async fn a_branch_begins_with_the_row_it_goes_on_from(store: Store) {
    let world = World::new(store).await;
    let (run, other) = (world.run("a").await, world.task("b").await);
    let seed = BranchSeed {
        node: "plan_steps".to_owned(),
        edge: "first_step".to_owned(),
        state: json!({"plan": [1], "nothing": null}),
    };
    let ended = run.id;
    write_tx!(world.store, tx => tx.run_set_status(ended, RunStatus::Canceled).await);
    for task in [run.task, other] {
        let branched = new_run(task);
        let (id, parent) = (branched.id, (run.id, 2));
        let from = Some(seed.clone());
        let branch = RunBranch { run: branched, parent, graph_version: Some(7), from };
        write_tx!(world.store, tx => tx.run_branch(&branch).await);
        let claim = claim();
        let granted = world.store.run_claim(claim).await.unwrap();

        let granted = granted.iter().find(|granted| granted.run.id == id).unwrap();
        // A runner must read the checkpoint, though the task had no lease before.
        assert!(granted.is_resumed());
        let checkpoint = read_tx!(world.store, tx => tx.checkpoint_get(task).await).unwrap();
        assert_eq!((checkpoint.sequence, &checkpoint.state), (1, &seed.state));
        assert_eq!((&checkpoint.last_node, &checkpoint.edge), (&seed.node, &seed.edge));
        let history = read_tx!(world.store, tx => tx.history_range(id, 1, 9).await);
        assert_eq!(history.len(), 1);
        assert_eq!(history[0].record, StateRecord::Full(seed.state.clone()));
        let standing = read_tx!(world.store, tx => tx.run_overview(id).await).unwrap();
        assert_eq!((standing.parent, standing.graph_version), (Some(parent), Some(7)));
        write_tx!(world.store, tx => tx.lease_fence(task).await);
    }
}

pub(crate) async fn only_a_failed_or_canceled_task_is_opened_again(store: Store) {
    let world = World::new(store).await;
    for (name, status, is_reopened) in [
        ("a", TaskStatus::Failed, true),
        ("b", TaskStatus::Canceled, true),
        ("c", TaskStatus::Completed, false),
        ("d", TaskStatus::Superseded, false),
        ("e", TaskStatus::Running, false),
    ] {
        let task = world.task(name).await;
        let reopened = write_tx!(world.store, tx => {
            tx.task_pause(task).await?;
            tx.task_set_status(task, status, Some("so")).await?;
            tx.task_reopen(task).await
        });

        assert_eq!(reopened, is_reopened, "{status}");
        let now = world.task_now(task).await;
        let expected = if is_reopened { TaskStatus::Pending } else { status };
        assert_eq!((now.status, now.paused_at.is_none()), (expected, is_reopened), "{status}");
        assert_eq!(now.summary.is_none(), is_reopened);
    }
}

pub(crate) async fn acts_are_kept_in_their_order_between_transitions(store: Store) {
    let world = World::new(store).await;
    let run = world.run("a").await;
    let act = |sequence, verb, handle: &str| RunAction {
        run: run.id,
        task: run.task,
        sequence,
        verb,
        user: UserId::generate(),
        handle: handle.to_owned(),
        detail: json!({"why": "so"}),
        recorded_at: None,
    };
    let acts = [
        act(0, RunVerb::Pause, "ada"),
        act(2, RunVerb::Resume, "bob"),
        act(2, RunVerb::Pause, "bob"),
        act(3, RunVerb::Fork, "eve"),
    ];
    write_tx!(world.store, tx => {
        for act in &acts {
            tx.run_action_insert(act).await?;
        }
        Ok::<_, cynode_store::Error>(())
    });

    let id = run.id;
    let reported = read_tx!(world.store, tx => tx.run_action_list(id, 0, 2).await);
    let rest = read_tx!(world.store, tx => tx.run_action_list(id, 3, i64::MAX).await);

    let verbs: Vec<_> = reported.iter().map(|act| act.verb).collect();
    assert_eq!(verbs, [RunVerb::Pause, RunVerb::Resume, RunVerb::Pause]);
    assert_eq!((rest.len(), rest[0].handle.as_str()), (1, "eve"));
    assert!(rest[0].recorded_at.is_some());
}

pub(crate) async fn runs_are_listed_by_what_they_wait_for(store: Store) {
    let world = World::new(store).await;
    let (queued, held, paused) = (world.run("a").await, world.run("b").await, world.run("c").await);
    let (task, run) = (paused.task, held);
    write_tx!(world.store, tx => {
        tx.task_pause(task).await?;
        tx.lease_grant(run.task, run.id, HolderId::generate(), 60_000).await
    });
    let of = async |state| {
        let filter = RunFilter { state, limit: 9, ..RunFilter::default() };
        let found = read_tx!(world.store, tx => tx.run_page(&filter).await);
        found.into_iter().map(|run| run.record.run.id).collect::<Vec<_>>()
    };

    assert_eq!(of(None).await, [paused.id, held.id, queued.id]);
    assert_eq!(of(Some(RunState::Paused)).await, [paused.id]);
    assert_eq!(of(Some(RunState::Running)).await, [held.id]);
    assert_eq!(of(Some(RunState::Queued)).await, [queued.id]);
    assert_eq!(of(Some(RunState::NeedsAnswer)).await, []);
    let stranger = world.other_user("eve").await;
    let filter = RunFilter { created_by: Some(stranger), limit: 9, ..RunFilter::default() };
    assert_eq!(read_tx!(world.store, tx => tx.run_page(&filter).await), []);
}
