//! Tests of the bytes that files take, and of the content in use.

use std::collections::{BTreeMap, HashSet};

use cynode_domain::ids::{ArtifactId, JobId, ProjectId, TaskId, UserId};
use cynode_store::{Artifact, NewTask, Store, counted_bytes};

use crate::world::{World, at, project};

pub(crate) fn file(task: TaskId, job: Option<JobId>, path: &str, size_bytes: i64) -> Artifact {
    Artifact {
        id: ArtifactId::generate(),
        task,
        job,
        kind: "output".to_owned(),
        path: path.to_owned(),
        size_bytes,
        sha256: "00".repeat(32),
        created_at: at(0),
    }
}

pub(crate) async fn held(world: &World, user: UserId, project: ProjectId) -> (i64, i64) {
    read_tx!(world.store, tx => tx.storage_held(user, Some(project)).await)
}

/// A sequence that is the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

pub(crate) async fn the_bytes_of_files_are_those_of_a_recount(store: Store) {
    let world = World::new(store).await;
    let (one, two) = (world.run("one").await, world.run("two").await);
    let jobs = [world.job(&one, 0).await, world.job(&one, 1).await, world.job(&two, 0).await];
    let tasks = [one.task, one.task, two.task];
    // What is stored: outputs of jobs, and the newest file of a task at a path with its job.
    let mut outputs = BTreeMap::<(usize, u64), i64>::new();
    let mut newest = BTreeMap::<(TaskId, u64), (Option<JobId>, i64)>::new();
    let mut numbers = Numbers(0x2545_f491_4f6c_dd1d);
    for step in 0..200 {
        let (of, path, size) = (
            usize::try_from(numbers.below(3)).unwrap(),
            numbers.below(4),
            i64::try_from(numbers.below(20_000)).unwrap(),
        );
        let (task, name) = (tasks[of], format!("file-{path}"));
        if numbers.below(8) == 0 {
            write_tx!(world.store, tx => tx.artifact_delete(task, Some(&name)).await);
            newest.remove(&(task, path));
            outputs.retain(|(job, at), _| tasks[*job] != task || *at != path);
        } else {
            let job = (numbers.below(3) > 0).then_some(jobs[of]);
            let new = file(task, job, &name, size);
            write_tx!(world.store, tx => tx.artifact_put(&new).await);
            newest.insert((task, path), (job, size));
            if job.is_some() {
                outputs.insert((of, path), size);
            }
        }

        let alone = newest.values().filter(|(job, _)| job.is_none()).map(|(_, size)| *size);
        let sum: i64 = outputs.values().copied().chain(alone).map(counted_bytes).sum();
        assert_eq!(held(&world, world.user, world.project).await, (sum, sum), "step {step}");
    }
    let deleted = write_tx!(world.store, tx => tx.artifact_delete(tasks[0], None).await);
    let rest = write_tx!(world.store, tx => tx.artifact_delete(tasks[2], None).await);
    assert!(deleted.freed_bytes > 0 && rest.freed_bytes > 0);
    assert_eq!(held(&world, world.user, world.project).await, (0, 0));
}

pub(crate) async fn files_count_for_one_user_and_one_project(store: Store) {
    let world = World::new(store).await;
    let other = world.other_user("eve").await;
    let attic = project("attic", other);
    let (task, of_other) = (world.new_task("a"), world.new_task("b"));
    let (mine, theirs) = (task.id, of_other.id);
    let of_other = NewTask { created_by: other, project: attic.id, ..of_other };
    let project = attic.id;
    write_tx!(world.store, tx => {
        tx.project_insert(&attic).await?;
        tx.task_insert(&task).await?;
        tx.task_insert(&of_other).await?;
        tx.artifact_put(&file(mine, None, "x", 5000)).await?;
        tx.artifact_put(&file(theirs, None, "x", 1)).await
    });

    assert_eq!(held(&world, world.user, world.project).await, (5000, 5000));
    assert_eq!(held(&world, other, project).await, (4096, 4096));
    let listed = read_tx!(world.store, tx => tx.storage_by_project(other, 10).await);
    let listed: Vec<_> = listed.iter().map(|of| (&*of.slug, of.held_bytes)).collect();
    assert_eq!(listed, [("attic", 4096)]);
}

pub(crate) async fn content_is_in_use_while_a_file_or_an_earlier_output_has_it(store: Store) {
    let world = World::new(store).await;
    let run = world.run("a").await;
    let (task, job) = (run.task, world.job(&run, 0).await);
    let hash = |digits: &str| digits.repeat(32);
    let with = |job, path: &str, digits: &str| Artifact {
        sha256: hash(digits),
        ..file(task, job, path, 1)
    };
    let files = [with(Some(job), "x", "aa"), with(None, "x", "bb"), with(None, "y", "cc")];
    write_tx!(world.store, tx => {
        for file in &files {
            tx.artifact_put(file).await?;
        }
        tx.artifact_delete(task, Some("y")).await
    });

    let asked = ["aa", "bb", "cc", "dd", "aa"].map(hash).to_vec();
    let used = read_tx!(world.store, tx => tx.blobs_in_use(&asked).await);

    assert_eq!(used, HashSet::from(["aa", "bb"].map(hash)));
    assert!(read_tx!(world.store, tx => tx.blobs_in_use(&[]).await).is_empty());
}

pub(crate) async fn a_task_remembers_that_its_attachments_were_deleted(store: Store) {
    let world = World::new(store).await;
    let (task, other) = (world.task("a").await, world.task("b").await);
    for task in [task, other] {
        let attachment = Artifact { kind: "attachment".to_owned(), ..file(task, None, "in", 1) };
        let output = file(task, None, "out", 1);
        write_tx!(world.store, tx => {
            tx.artifact_put(&attachment).await?;
            tx.artifact_put(&output).await
        });
    }

    write_tx!(world.store, tx => tx.artifact_delete(task, Some("in")).await);
    write_tx!(world.store, tx => tx.artifact_delete(other, Some("out")).await);

    assert!(read_tx!(world.store, tx => tx.task_lost_attachments(task).await));
    assert!(!read_tx!(world.store, tx => tx.task_lost_attachments(other).await));
}
