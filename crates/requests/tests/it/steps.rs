//! Attempts: their order, what they build on, and what follows when they fail.

use std::time::Duration;

use cynode_domain::question::{Reply, ReplyForm};
use cynode_domain::request::{DeliveryMode, QuestionSubject, RequestSettings};
use cynode_domain::status::{ShownTaskStatus, TaskStatus};
use cynode_runs::RunError;
use cynode_wire::runs::RetryRun;

use crate::world::{ChildEnd, RequestFixture, TREE, patch, review, unit_of};

fn as_patch() -> RequestSettings {
    RequestSettings { deliver: DeliveryMode::Patch, ..RequestSettings::default() }
}

/// A request whose unit is implemented and approved; its results are being merged.
async fn until_integration(
    world: &RequestFixture,
    settings: RequestSettings,
) -> cynode_wire::requests::RequestView {
    let view = world.submit(settings).await;
    world.end_context(view.id).await;
    world.end(view.id, "impl:main", patch("a.rs")).await;
    world.end(view.id, "review:main", review(true, "a.rs:1")).await;
    view
}

#[tokio::test]
async fn an_ended_attempt_is_not_retried_by_hand() {
    let world = RequestFixture::sqlite().await;
    let view = world.submit(RequestSettings::default()).await;
    world.end_context(view.id).await;
    let first = world.child(view.id, "impl:main").await.spec.id;
    world.end(view.id, "impl:main", ChildEnd::Failed("lost".to_owned())).await;
    let run = world.store.read(move |tx| {
        Box::pin(async move { Ok::<_, cynode_store::Error>(tx.run_of_task(first).await?.unwrap()) })
    });
    let run = run.await.unwrap().id;
    let ended = world.store.write(move |tx| {
        Box::pin(
            async move { tx.run_set_status(run, cynode_domain::status::RunStatus::Failed).await },
        )
    });
    let _: Result<_, cynode_store::Error> = ended.await;

    let refused = world.runs.retry(&world.bob, &run.into(), RetryRun { node: None }).await;

    let Err(RunError::Rejected(reason)) = refused else { panic!("{refused:?}") };
    assert!(reason.contains("cynork pm show"), "{reason}");
    assert_eq!(world.open_children(view.id).await.len(), 1, "only the attempt of the request runs");
}

#[tokio::test]
async fn a_tree_that_was_read_is_not_read_again_and_another_one_or_another_project_is() {
    for world in [RequestFixture::sqlite().await, RequestFixture::postgres().await] {
        world.add_provider().await;
        let described = |files: &'static str| format!("# App\n\n## Architecture\n\n{files}\n");
        let other_tree = "5".repeat(40);
        let project = world.add_project("other").await;
        // What was cached counts, whatever the files of a later job say.
        for (number, project, tree, guide, expected) in [
            (1, None, TREE, "the first", "the first"),
            (2, None, TREE, "the second", "the first"),
            (3, None, other_tree.as_str(), "the third", "the third"),
            (4, Some(project.as_str()), TREE, "the fourth", "the fourth"),
            (5, None, "no hash", "the fifth", "the fifth"),
            (6, None, "no hash", "the sixth", "the sixth"),
        ] {
            let view = world.submit_in(project, &format!("Add page {number} to the site")).await;
            world.end_context_with(view.id, tree, &described(guide)).await;

            let read = world.get(&view).await.architecture;

            assert_eq!(read.as_deref(), Some(expected), "{number}");
        }
    }
}

#[tokio::test]
async fn the_runs_of_attempts_belong_to_the_trace_of_their_request() {
    let world = RequestFixture::sqlite().await;
    let view = world.submit(RequestSettings::default()).await;
    world.end_context(view.id).await;
    let child = world.child(view.id, "impl:main").await.spec.id;

    let run = world.store.read(move |tx| {
        Box::pin(async move { Ok::<_, cynode_store::Error>(tx.run_of_task(child).await?.unwrap()) })
    });

    assert_eq!(run.await.unwrap().trace.to_string(), view.id.to_string());
}

#[tokio::test]
async fn attempts_have_an_order_that_no_clock_changes() {
    for world in [RequestFixture::sqlite().await, RequestFixture::postgres().await] {
        let view = until_integration(&world, as_patch()).await;
        let conflict = "step 1 could not start: merge conflict: a conflicts with b in x";
        world.end(view.id, "integrate", ChildEnd::Failed(conflict.to_owned())).await;
        world.end(view.id, "merge", patch("a.rs")).await;

        let attempts = world.attempts(view.id).await;
        let order: Vec<_> = attempts.iter().map(|known| known.sequence).collect();
        assert_eq!(order, (1..=u32::try_from(order.len()).unwrap()).collect::<Vec<_>>());
        let units: Vec<_> = attempts.iter().map(|known| known.unit.as_str()).collect();
        assert_eq!(
            units,
            ["context", "impl:main", "review:main", "integrate", "merge", "integrate"]
        );
        let last = world.child(view.id, "integrate").await;
        let sources: Vec<_> = last.spec.options.builds_on.iter().map(|from| from.task).collect();
        assert_eq!(sources, [attempts[4].child], "what the agent merged is tested");
        world.end(view.id, "integrate", patch("a.rs")).await;
        assert_eq!(world.get(&view).await.status, ShownTaskStatus::Completed);
    }
}

#[tokio::test]
async fn a_unit_between_conflicting_components_resolves_their_conflict() {
    let world = RequestFixture::sqlite().await;
    world.plan("medium", &[("a", &[]), ("b", &[]), ("c", &["a", "b"])]);
    let settings = RequestSettings { require_tests_pass: false, ..as_patch() };
    let view = world.submit(settings).await;
    world.end_context(view.id).await;
    for part in ["a", "b"] {
        for unit in ["spec", "impl"] {
            world.end(view.id, &format!("{unit}:{part}"), patch("x.rs")).await;
        }
        world.end(view.id, &format!("review:{part}"), review(true, "x.rs:1")).await;
    }
    let conflict = "step 1 could not start: merge conflict: b conflicts with a in x.rs";
    world.end(view.id, "spec:c", ChildEnd::Failed(conflict.to_owned())).await;

    let resolving = world.child(view.id, "spec:c").await;
    assert!(resolving.spec.options.mark_conflicts);
    assert!(resolving.spec.prompt.contains("Resolve every conflict first"), "{resolving:?}");
    world.end(view.id, "spec:c", patch("x.rs")).await;

    // The unit that resolved the conflict is merged before those that conflict.
    let next = world.child(view.id, "impl:c").await;
    assert_eq!(next.spec.options.builds_on[0].task, resolving.spec.id);
    assert!(!next.spec.options.mark_conflicts);
    world.end(view.id, "impl:c", patch("x.rs")).await;
    world.end(view.id, "review:c", review(true, "x.rs:1")).await;
    let merged = world.child(view.id, "integrate").await;
    assert_eq!(merged.spec.options.builds_on[0].task, resolving.spec.id);
    assert_eq!(world.get(&view).await.question.map(|asked| asked.question.text), None);
}

#[tokio::test]
async fn a_conflict_that_an_agent_does_not_resolve_is_left_to_a_person() {
    let world = RequestFixture::sqlite().await;
    world.plan("medium", &[("a", &[]), ("b", &["a"])]);
    let view = world.submit(as_patch()).await;
    world.end_context(view.id).await;
    let conflict = || ChildEnd::Failed("could not start: merge conflict: a".to_owned());
    for _ in 0..4 {
        assert!(world.get(&view).await.question.is_none());
        world.end(view.id, "spec:a", conflict()).await;
    }

    let asked = world.get(&view).await.question.unwrap();
    assert_eq!(asked.subject, QuestionSubject::UnitFailed { unit: "spec:a".to_owned() });
}

#[tokio::test]
async fn an_agent_corrects_a_merged_result_whose_tests_fail_if_a_person_says_so() {
    let world = RequestFixture::sqlite().await;
    let view = until_integration(&world, as_patch()).await;
    for round in 1..=2 {
        let output = format!("test {round} failed: expected 1, found 2");
        world.end(view.id, "integrate", ChildEnd::Failed(output.clone())).await;
        let asked = world.get(&view).await.question.unwrap().question;
        assert!(asked.accepts.contains(&ReplyForm::Text), "{asked:?}");
        world.answer(&view, Reply::Text { text: "the sum is off by one".to_owned() }).await;

        let child = world.child(view.id, "merge").await;
        for part in [output.as_str(), "the sum is off by one", "# Correct the merged result"] {
            assert!(child.spec.prompt.contains(part), "{part}: {}", child.spec.prompt);
        }
        world.end(view.id, "merge", patch("a.rs")).await;
    }
    world.end(view.id, "integrate", ChildEnd::Failed("still wrong".to_owned())).await;

    let asked = world.get(&view).await.question.unwrap().question;
    assert_eq!(asked.accepts, [ReplyForm::Retry, ReplyForm::No], "the rounds are bounded");
    world.answer(&view, Reply::Retry {}).await;
    world.end(view.id, "integrate", patch("a.rs")).await;
    let view = world.get(&view).await;
    assert_eq!(view.status, ShownTaskStatus::Completed);
    assert!(view.notes.iter().any(|note| note.contains("after its review")), "{:?}", view.notes);
}

#[tokio::test]
async fn units_and_the_merged_result_are_built_before_they_are_tested() {
    let world = RequestFixture::sqlite().await;
    world.plan("medium", &[("a", &[])]);
    let view = world.submit(as_patch()).await;
    let guide = "# App\n\n## Build\n\n```\nmake app\n```\n\n## Test\n\n```\nsh tests/run.sh\n```\n";
    world.end_context_with(view.id, TREE, guide).await;
    world.end(view.id, "spec:a", patch("a.md")).await;
    world.end(view.id, "impl:a", patch("a.rs")).await;
    world.end(view.id, "review:a", review(true, "a.rs:1")).await;

    let tested = world.child(view.id, "test:a").await.spec.commands;
    world.end(view.id, "test:a", ChildEnd::Nothing).await;
    let merged = world.child(view.id, "integrate").await.spec.commands;

    let expected = ["make app", "sh tests/run.sh"];
    assert_eq!(tested, expected);
    assert_eq!(merged[..2], expected);
    assert!(merged.len() == 3 && merged[2].contains("git clean"), "{merged:?}");
}

#[tokio::test]
async fn signs_that_were_accepted_leave_room_for_others_and_those_not_listed_are_counted() {
    let world = RequestFixture::sqlite().await;
    let view = world.submit(as_patch()).await;
    world.end_context(view.id).await;
    let ignored = |count: usize| {
        let files = (0..count).map(|number| {
            format!(
                "diff --git a/tests/a{number:02}.rs b/tests/a{number:02}.rs\n--- a/tests/a{number:02}.rs\n+++ b/tests/a{number:02}.rs\n@@ -1 +1,2 @@\n+#[ignore]\n #[test]\n"
            )
        });
        ChildEnd::Patch(files.collect())
    };
    world.end(view.id, "impl:main", ignored(25)).await;

    let asked = world.get(&view).await.question.unwrap().question;
    assert_eq!(asked.about.len(), 21, "{asked:?}");
    assert!(asked.about[20].starts_with("5 more signs"), "{asked:?}");
    world.answer(&view, Reply::Yes {}).await;
    world.end(view.id, "review:main", crate::world::review(false, "tests/a00.rs:1")).await;
    world.end(view.id, "impl:main", ignored(45)).await;

    let asked = world.get(&view).await.question.unwrap().question;
    assert!(asked.about[0].starts_with("tests/a20.rs"), "those of before were accepted: {asked:?}");
    assert!(asked.about[20].starts_with("5 more signs"), "{asked:?}");
}

#[tokio::test]
async fn changes_that_are_too_long_to_be_checked_are_accepted_each_on_their_own() {
    let world = RequestFixture::sqlite().await;
    let view = world.submit(as_patch()).await;
    world.end_context(view.id).await;
    let long = || {
        let lines = "+one line of a long file\n".repeat(60_000);
        ChildEnd::Patch(format!(
            "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -0,0 +1,60000 @@\n{lines}"
        ))
    };
    world.end(view.id, "impl:main", long()).await;
    let first = world.get(&view).await.question.unwrap().question;
    assert!(first.about[0].contains("too long to be checked"), "{first:?}");
    world.answer(&view, Reply::Yes {}).await;
    world.end(view.id, "review:main", review(false, "a.txt:1")).await;
    world.end(view.id, "impl:main", long()).await;

    let second = world.get(&view).await.question.unwrap().question;
    assert!(second.about[0].contains("too long to be checked"), "{second:?}");
    assert_ne!(first.about, second.about, "each names its commit");
}

#[tokio::test]
async fn changes_that_were_not_collected_are_named_by_their_task() {
    let world = RequestFixture::sqlite().await;
    let view = world.submit(as_patch()).await;
    world.end_context(view.id).await;
    for _ in 0..2 {
        let child = world.child(view.id, "impl:main").await.spec.id.to_string();
        world.end(view.id, "impl:main", ChildEnd::Nothing).await;

        let asked = world.get(&view).await.question.unwrap().question;
        assert!(asked.about[0].contains(&child), "{asked:?}");
        world.answer(&view, Reply::Text { text: "make the changes".to_owned() }).await;
    }
}

#[tokio::test]
async fn signs_in_merged_changes_are_accepted_by_a_person_or_the_step_is_repeated() {
    let world = RequestFixture::sqlite().await;
    let view = until_integration(&world, as_patch()).await;
    let conflict = "step 1 could not start: merge conflict: b conflicts with a in a.rs";
    world.end(view.id, "integrate", ChildEnd::Failed(conflict.to_owned())).await;
    let deletes_test = || {
        let patch =
            "diff --git a/tests/a.rs b/tests/a.rs\ndeleted file mode 100644\n@@ -1 +0,0 @@\n-x\n";
        ChildEnd::Patch(patch.to_owned())
    };
    for reply in [Reply::Retry {}, Reply::Yes {}] {
        world.end(view.id, "merge", deletes_test()).await;
        let asked = world.get(&view).await.question.unwrap();
        assert_eq!(asked.subject, QuestionSubject::ReviewCap { unit: "merge".to_owned() });
        assert_eq!(asked.question.accepts, [ReplyForm::Yes, ReplyForm::Retry, ReplyForm::No]);
        assert!(asked.question.about[0].contains("tests/a.rs"), "{asked:?}");
        world.answer(&view, reply).await;
    }
    world.end(view.id, "integrate", patch("a.rs")).await;

    let view = world.get(&view).await;
    assert_eq!(view.status, ShownTaskStatus::Completed);
    assert!(view.notes.iter().any(|note| note.contains("accepted by")), "{:?}", view.notes);
}

#[tokio::test]
async fn accepted_changes_that_are_missing_are_not_left_out() {
    let world = RequestFixture::sqlite().await;
    let view = world.submit(as_patch()).await;
    world.end_context(view.id).await;
    world.end(view.id, "impl:main", ChildEnd::Nothing).await;
    // A person accepts what could not be read.
    assert!(world.get(&view).await.question.is_some());
    world.answer(&view, Reply::Yes {}).await;

    for _ in 0..10 {
        world.clock.advance(Duration::from_mins(5));
        world.wake(view.id).await;
    }

    let asked = world.get(&view).await.question.unwrap().question;
    assert!(asked.text.contains("are missing"), "{asked:?}");
    let open = world.open_children(view.id).await;
    assert_eq!(open.iter().map(unit_of).collect::<Vec<_>>(), Vec::<String>::new());
    assert_ne!(world.get(&view).await.status, TaskStatus::Completed.to_shown());
}

#[tokio::test]
async fn failing_tests_reopen_the_implementation_within_the_configured_rounds() {
    let world = RequestFixture::sqlite().await;
    world.plan("medium", &[("a", &[])]);
    let view = world.submit(RequestSettings { max_review_rounds: 1, ..as_patch() }).await;
    world.end_context(view.id).await;
    world.end(view.id, "spec:a", patch("a.md")).await;
    world.end(view.id, "impl:a", patch("a.rs")).await;
    world.end(view.id, "review:a", review(true, "a.rs:1")).await;

    let failed = || ChildEnd::Failed("2 of 9 tests failed".to_owned());
    world.end(view.id, "test:a", failed()).await;
    let again = world.child(view.id, "impl:a").await;
    assert!(again.spec.prompt.contains("2 of 9 tests failed"), "{}", again.spec.prompt);
    world.end(view.id, "impl:a", patch("a.rs")).await;
    world.end(view.id, "review:a", review(true, "a.rs:1")).await;
    world.end(view.id, "test:a", failed()).await;

    let asked = world.get(&view).await.question.unwrap();
    assert_eq!(asked.subject, QuestionSubject::ReviewCap { unit: "test:a".to_owned() });
}
