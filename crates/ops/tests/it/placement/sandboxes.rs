//! Commands in workspaces: access, limits, retention.

use cynode_domain::ids::TaskId;
use cynode_domain::job::JobEnding;
use cynode_ops::sandboxes::{OpenSandbox, SandboxCommand, SandboxError};
use cynode_resources::{Actor, ActorKind};
use cynode_store::NewRunQuestion;
use cynode_wire::jobs::{JobResult, Truncated};
use cynode_wire::tool_calls::SandboxIds;
use serde_json::{Value, json};

use super::PlacementFixture;
use crate::engines::on_each_engine;

on_each_engine! {
    sandboxes_and_commands_of_a_task_are_bounded,
    agents_run_nothing_in_what_a_person_has_stopped,
    commands_say_who_asked_and_a_key_stands_for_one_of_them,
    what_a_command_of_long_ago_left_is_no_longer_kept,
    long_results_of_commands_are_kept_up_to_a_size_and_the_last_ones_always,
}

impl PlacementFixture {
    /// Makes the task's run ask this question.
    async fn ask(&self, task: TaskId, question: Value) {
        let question = serde_json::from_value(question).unwrap();
        let request: Result<_, cynode_store::Error> = self
            .world
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let run = tx.run_of_task(task).await?.unwrap().id;
                    let (key, asked_by) =
                        ("1/plan_steps/ask/a".to_owned(), "plan_steps".to_owned());
                    let request =
                        NewRunQuestion { run, task, key, asked_by, question, within_ms: None };
                    tx.question_insert(&request).await
                })
            })
            .await;
        assert!(request.unwrap());
    }
}

/// A task with a step and a handle on its workspace.
async fn with_sandbox(fixture: &PlacementFixture) -> SandboxIds {
    let task = fixture.task(json!({})).await;
    let job = fixture.step(fixture.hold(task).await, 0).await;
    let open = OpenSandbox { task, job: Some(job), image: None, node: None };
    let bob = Actor { caller: &fixture.world.bob, kind: ActorKind::Person };
    SandboxIds { task_id: task, job_id: fixture.sandboxes.create(bob, open).await.unwrap().job_id }
}

fn exec(
    SandboxIds { task_id: task, job_id: sandbox }: SandboxIds,
    command: &str,
    key: Option<&str>,
) -> SandboxCommand {
    let (command, key) = (command.to_owned(), key.map(str::to_owned));
    SandboxCommand { task, sandbox, command, argv: None, timeout_s: None, wait_ms: Some(0), key }
}

async fn sandboxes_and_commands_of_a_task_are_bounded() {
    let fixture = PlacementFixture::new(&[], None).await;
    let task = fixture.task(json!({})).await;
    let job = fixture.step(fixture.hold(task).await, 0).await;
    let open = OpenSandbox { task, job: Some(job), image: None, node: None };
    let sandbox = fixture
        .sandboxes
        .create(Actor { caller: &fixture.world.bob, kind: ActorKind::Person }, open.clone())
        .await
        .unwrap()
        .job_id;
    let exec = |key: Option<&str>| SandboxCommand {
        task,
        sandbox,
        command: "true".to_owned(),
        argv: None,
        timeout_s: None,
        wait_ms: Some(0),
        key: key.map(str::to_owned),
    };
    let bob = Actor { caller: &fixture.world.bob, kind: ActorKind::Person };
    let first = fixture.sandboxes.run_command(bob, exec(Some("once"))).await.unwrap();
    assert_eq!(first.status, "running");
    for _ in 1..8 {
        fixture.sandboxes.run_command(bob, exec(None)).await.unwrap();
    }

    let ninth = fixture.sandboxes.run_command(bob, exec(None)).await.unwrap_err();
    let again = fixture.sandboxes.run_command(bob, exec(Some("once"))).await.unwrap();
    let image = OpenSandbox { image: Some("debian".to_owned()), ..open.clone() };
    let image = fixture.sandboxes.create(bob, image).await.unwrap_err();
    let destroyed = fixture
        .sandboxes
        .destroy_sandbox(bob.caller, SandboxIds { task_id: task, job_id: sandbox })
        .await
        .unwrap();

    assert!(matches!(ninth, SandboxError::TooMany(_)), "{ninth}");
    assert_eq!(again.exec_id, first.exec_id);
    assert!(image.to_string().contains("runs in the image \"host\""), "{image}");
    assert!(
        destroyed
            && !fixture
                .sandboxes
                .destroy_sandbox(bob.caller, SandboxIds { task_id: task, job_id: sandbox })
                .await
                .unwrap()
    );
    let ended = fixture.sandboxes.run_command(bob, exec(Some("once"))).await.unwrap();
    assert_eq!((ended.status, ended.ending.as_deref()), ("ended", Some("was canceled")));
    let after = fixture.sandboxes.run_command(bob, exec(None)).await.unwrap_err();
    assert!(matches!(after, SandboxError::Destroyed), "{after}");
    let elsewhere = fixture.sandboxes.create(bob, open).await.unwrap_err();
    assert!(matches!(elsewhere, SandboxError::Destroyed), "{elsewhere}");
    assert!(!fixture.job(job).await.status.is_terminal(), "a step is none of its commands");
}

async fn agents_run_nothing_in_what_a_person_has_stopped() {
    let fixture = PlacementFixture::new(&[], None).await;
    let SandboxIds { task_id: task, job_id: sandbox } = with_sandbox(&fixture).await;
    let at = SandboxIds { task_id: task, job_id: sandbox };
    let (person, agent) = (
        Actor { caller: &fixture.world.bob, kind: ActorKind::Person },
        Actor { caller: &fixture.world.bob, kind: ActorKind::Agent },
    );
    fixture.sandboxes.run_command(agent, exec(at, "true", None)).await.unwrap();

    fixture.query("UPDATE tasks SET paused_at = created_at").await;
    let paused = fixture.sandboxes.run_command(agent, exec(at, "true", None)).await.unwrap_err();
    let file = fixture.sandboxes.get_file(agent, at, "a.txt").await.unwrap_err();
    let open = OpenSandbox { task, job: Some(sandbox), image: None, node: None };
    let opened = fixture.sandboxes.create(agent, open).await.unwrap_err();
    fixture.sandboxes.run_command(person, exec(at, "true", None)).await.unwrap();
    fixture.query("UPDATE tasks SET paused_at = NULL").await;
    let question =
        json!({ "kind": "approval", "text": "Shall it?", "about": [], "accepts": ["yes"] });
    fixture.ask(task, question).await;
    let unapproved =
        fixture.sandboxes.run_command(agent, exec(at, "true", None)).await.unwrap_err();
    fixture.sandboxes.run_command(person, exec(at, "true", None)).await.unwrap();

    for refused in [&paused, &file, &opened] {
        assert!(refused.to_string().contains("is paused"), "{refused}");
    }
    assert!(unapproved.to_string().contains("waits for approval"), "{unapproved}");
    assert!(fixture.sandboxes.destroy_sandbox(&fixture.world.bob, at).await.unwrap());
}

async fn commands_say_who_asked_and_a_key_stands_for_one_of_them() {
    let fixture = PlacementFixture::new(&[], None).await;
    let SandboxIds { task_id: task, job_id: sandbox } = with_sandbox(&fixture).await;
    let at = SandboxIds { task_id: task, job_id: sandbox };
    let (person, agent) = (
        Actor { caller: &fixture.world.bob, kind: ActorKind::Person },
        Actor { caller: &fixture.world.bob, kind: ActorKind::Agent },
    );

    let first =
        fixture.sandboxes.run_command(agent, exec(at, "echo s3cret", Some("k"))).await.unwrap();
    let again =
        fixture.sandboxes.run_command(person, exec(at, "echo s3cret", Some("k"))).await.unwrap();
    let other =
        fixture.sandboxes.run_command(agent, exec(at, "echo more", Some("k"))).await.unwrap_err();
    fixture.sandboxes.run_command(person, exec(at, "true", None)).await.unwrap();

    assert_eq!(again.exec_id, first.exec_id);
    assert!(other.to_string().contains("used for another command"), "{other}");
    let events = fixture.query("SELECT data FROM events WHERE kind = 'job.queued'").await.concat();
    let said: Vec<Value> = events.iter().map(|data| serde_json::from_str(data).unwrap()).collect();
    let by: Vec<_> = said.iter().map(|data| &data["by"]).collect();
    assert_eq!(by, [&Value::Null, &json!("an agent of bob"), &json!("bob")]);
    assert!(!events.concat().contains("s3cret"));
}

async fn what_a_command_of_long_ago_left_is_no_longer_kept() {
    let fixture = PlacementFixture::new(&[], None).await;
    let SandboxIds { task_id: task, job_id: sandbox } = with_sandbox(&fixture).await;
    let (at, bob) = (
        SandboxIds { task_id: task, job_id: sandbox },
        Actor { caller: &fixture.world.bob, kind: ActorKind::Person },
    );
    fixture.sandboxes.run_command(bob, exec(at, "echo first", Some("k"))).await.unwrap();
    fixture
        .query("UPDATE jobs SET status = 'completed', closed = (1 = 1) WHERE step_index = 1000000")
        .await;
    fixture.sandboxes.run_command(bob, exec(at, "true", None)).await.unwrap();
    // As if many had been run between them.
    fixture.query("UPDATE jobs SET attempt = 150 WHERE step_index = 1000000 AND attempt = 2").await;

    fixture.sandboxes.run_command(bob, exec(at, "true", None)).await.unwrap();

    let kept =
        fixture.query("SELECT payload FROM jobs WHERE attempt = 1 AND closed = (1 = 1)").await;
    assert_eq!(kept, [["{}"]]);
    let seen = fixture.sandboxes.run_command(bob, exec(at, "echo first", Some("k"))).await.unwrap();
    assert!(seen.status == "ended" && seen.ending.unwrap().contains("no longer retained"));
}

async fn long_results_of_commands_are_kept_up_to_a_size_and_the_last_ones_always() {
    let fixture = PlacementFixture::new(&[], None).await;
    let (at, bob) = (
        with_sandbox(&fixture).await,
        Actor { caller: &fixture.world.bob, kind: ActorKind::Person },
    );
    let node = fixture.join("a").await;
    let result = JobResult {
        ending: JobEnding::Exited { code: 0 },
        stdout: "x".repeat(2 * 1024 * 1024),
        stderr: String::new(),
        truncated: Truncated::default(),
    };
    let mut ids = vec![];
    for _ in 0..12 {
        let id =
            fixture.sandboxes.run_command(bob, exec(at, "cat long", None)).await.unwrap().exec_id;
        let taken = format!(
            "UPDATE jobs SET status = 'running', node_id = '{}', incarnation_id = '{}'
             WHERE id = '{id}'",
            node.node, node.incarnation
        );
        fixture.query(&taken).await;

        fixture.nodes.finish(&node, id, result.clone()).await.unwrap();
        let kept = fixture.query("SELECT id FROM jobs WHERE result IS NOT NULL").await;
        assert!(kept.len() <= 8 && kept.contains(&vec![id.to_string()]), "{kept:?}");
        ids.push(id.to_string());
    }

    let kept =
        fixture.query("SELECT id FROM jobs WHERE result IS NOT NULL ORDER BY id").await.concat();
    assert_eq!(kept, ids[4..]);
}
