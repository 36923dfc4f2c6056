//! Tests of artifacts.

use cynode_domain::ids::{ArtifactId, TaskId};
use cynode_store::{Artifact, EarlierSteps, Store};

use crate::world::{World, at, new_job};

fn artifact(task: TaskId, kind: &str, path: &str) -> Artifact {
    Artifact {
        id: ArtifactId::generate(),
        task,
        job: None,
        kind: kind.to_owned(),
        path: path.to_owned(),
        size_bytes: 5,
        sha256: "00".repeat(32),
        created_at: at(0),
    }
}

impl World {
    async fn put(&self, artifact: &Artifact) -> Artifact {
        let new = artifact.clone();
        write_tx!(self.store, tx => tx.artifact_put(&new).await)
    }
}

pub(crate) async fn the_newest_artifact_at_a_path_stays(store: Store) {
    let world = World::new(store).await;
    let run = world.run("a").await;
    let (task, job) = (run.task, world.job(&run, 0).await);
    let first = artifact(task, "output", "out.txt");
    assert_eq!(world.put(&first).await, first);
    let second = Artifact {
        job: Some(job),
        size_bytes: 7,
        sha256: "11".repeat(32),
        created_at: at(9),
        ..artifact(task, "output", "out.txt")
    };

    let stored = world.put(&second).await;

    assert_eq!(stored, Artifact { id: first.id, ..second });
    assert_eq!(read_tx!(world.store, tx => tx.artifact_list(task).await), [stored]);
}

pub(crate) async fn artifacts_are_listed_by_kind_and_path_in_byte_order(store: Store) {
    let world = World::new(store).await;
    let task = world.task("a").await;
    for (kind, path) in [
        ("output", "b"),
        ("output", "B"),
        ("output", "a/z"),
        ("attachment", "z"),
        ("output", "a.b"),
    ] {
        world.put(&artifact(task, kind, path)).await;
    }

    let listed = read_tx!(world.store, tx => tx.artifact_list(task).await);

    let paths: Vec<_> = listed.iter().map(|artifact| artifact.path.as_str()).collect();
    assert_eq!(paths, ["z", "B", "a.b", "a/z", "b"]);
}

pub(crate) async fn an_artifact_is_found_by_task_kind_and_path(store: Store) {
    let world = World::new(store).await;
    let (task, other) = (world.task("a").await, world.task("b").await);
    let output = world.put(&artifact(task, "output", "x")).await;
    let attachment = world.put(&artifact(task, "attachment", "x")).await;

    let found = read_tx!(world.store, tx => tx.artifact_get(task, "output", "x").await);
    assert_eq!(found, Some(output));
    let found = read_tx!(world.store, tx => tx.artifact_get(task, "attachment", "x").await);
    assert_eq!(found, Some(attachment));
    assert_eq!(read_tx!(world.store, tx => tx.artifact_get(other, "output", "x").await), None);
}

pub(crate) async fn an_output_belongs_to_the_job_that_made_it(store: Store) {
    let world = World::new(store).await;
    let run = world.run("a").await;
    let (first, second) = (world.job(&run, 0).await, world.job(&run, 1).await);
    for (job, content) in [(first, "00"), (second, "11")] {
        let sha256 = content.repeat(32);
        let by_job = artifact(run.task, "output", "out.txt");
        world.put(&Artifact { job: Some(job), sha256, ..by_job }).await;
    }
    world.put(&artifact(run.task, "output", "by-nobody.txt")).await;

    let of = async |job| {
        let listed = read_tx!(world.store, tx => tx.output_list(job).await);
        listed.into_iter().map(|o| (o.step_index, o.path, o.sha256)).collect::<Vec<_>>()
    };

    assert_eq!(of(first).await, [(0, "out.txt".to_owned(), "00".repeat(32))]);
    assert_eq!(of(second).await, [(1, "out.txt".to_owned(), "11".repeat(32))]);
}

pub(crate) async fn outputs_before_a_step_are_those_of_the_newest_attempts(store: Store) {
    let world = World::new(store).await;
    let (run, other) = (world.run("a").await, world.run("b").await);
    // Step 0 was tried twice and checked once; step 2 is the one under verification.
    let jobs = [(0, 1, "failed"), (0, 2, "accepted"), (0, 1002, "check"), (1, 1, "second")];
    for (step, attempt, path) in jobs.into_iter().chain([(2, 1, "own")]) {
        let job = new_job(&run, step, attempt);
        let job = write_tx!(world.store, tx => tx.job_insert(&job).await).0;
        world.put(&Artifact { job: Some(job), ..artifact(run.task, "output", path) }).await;
    }
    let elsewhere = world.job(&other, 0).await;
    let foreign = artifact(other.task, "output", "foreign");
    world.put(&Artifact { job: Some(elsewhere), ..foreign }).await;

    let before = EarlierSteps { run: run.id, step_index: 2, attempts_below: 1000 };
    let listed = read_tx!(world.store, tx => tx.output_list_before(before).await);

    let paths: Vec<_> = listed.iter().map(|output| output.path.as_str()).collect();
    assert_eq!(paths, ["accepted", "second"]);
}
