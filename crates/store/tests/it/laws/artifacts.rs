//! Laws of artifacts.

use cynode_domain::ids::{ArtifactId, TaskId};
use cynode_store::{Artifact, ArtifactStore, Store};

use crate::world::{World, at};

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
        change!(self.store, tx => tx.artifact_put(&new).await)
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
    assert_eq!(look!(world.store, tx => tx.artifact_list(task).await), [stored]);
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

    let listed = look!(world.store, tx => tx.artifact_list(task).await);

    let paths: Vec<_> = listed.iter().map(|artifact| artifact.path.as_str()).collect();
    assert_eq!(paths, ["z", "B", "a.b", "a/z", "b"]);
}

pub(crate) async fn an_artifact_is_found_by_task_kind_and_path(store: Store) {
    let world = World::new(store).await;
    let (task, other) = (world.task("a").await, world.task("b").await);
    let output = world.put(&artifact(task, "output", "x")).await;
    let attachment = world.put(&artifact(task, "attachment", "x")).await;

    let found = look!(world.store, tx => tx.artifact_get(task, "output", "x").await);
    assert_eq!(found, Some(output));
    let found = look!(world.store, tx => tx.artifact_get(task, "attachment", "x").await);
    assert_eq!(found, Some(attachment));
    assert_eq!(look!(world.store, tx => tx.artifact_get(other, "output", "x").await), None);
}
