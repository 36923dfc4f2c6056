//! Tests of workspace handles.

use cynode_domain::ids::JobId;
use cynode_domain::status::JobStatus;
use cynode_store::{ExecCounts, KeepExecs, Run, Sandbox, Store};
use serde_json::json;

use crate::world::{World, at, new_job};

/// The step that is reserved for commands.
const STEP: u32 = 1_000_000;

impl World {
    async fn sandbox(&self, run: &Run, number: u32) -> Sandbox {
        let job = new_job(run, STEP, number);
        let sandbox = Sandbox {
            id: job.id,
            task: run.task,
            created_by: self.user,
            node: None,
            created_at: at(0),
            destroyed_at: None,
        };
        let given = sandbox.clone();
        write_tx!(self.store, tx => {
            tx.job_insert(&job).await?;
            tx.sandbox_insert(&given).await
        });
        sandbox
    }

    async fn exec(&self, run: &Run, sandbox: JobId, number: u32, key: Option<&str>) -> JobId {
        let (job, key) = (new_job(run, STEP, number), key.map(str::to_owned));
        let id = job.id;
        write_tx!(self.store, tx => {
            tx.job_insert(&job).await?;
            tx.exec_insert(id, sandbox, key.as_deref()).await
        });
        id
    }
}

pub(crate) async fn a_handle_on_a_workspace_reads_back_with_the_node_of_its_job(store: Store) {
    let world = World::new(store).await;
    let (run, node) = (world.run("a").await, world.node("n").await);
    let made = world.sandbox(&run, 1).await;
    let id = made.id;
    assert_eq!(read_tx!(world.store, tx => tx.sandbox_get(id).await), Some(made.clone()));

    write_tx!(world.store, tx => tx.job_assign(id, node).await);

    let with_node = Sandbox { node: Some(node), ..made.clone() };
    assert_eq!(read_tx!(world.store, tx => tx.sandbox_get(id).await), Some(with_node));
    assert!(!write_tx!(world.store, tx => tx.sandbox_insert(&made).await));
    assert_eq!(read_tx!(world.store, tx => tx.sandbox_get(JobId::generate()).await), None);
}

pub(crate) async fn a_handle_that_was_given_up_is_not_counted_and_stays_so(store: Store) {
    let world = World::new(store).await;
    let (run, other) = (world.run("a").await, world.run("b").await);
    let (first, _) = (world.sandbox(&run, 1).await, world.sandbox(&run, 2).await);
    world.sandbox(&other, 1).await;
    let id = first.id;
    assert_eq!(read_tx!(world.store, tx => tx.sandbox_count(run.task).await), 2);

    assert!(write_tx!(world.store, tx => tx.sandbox_destroy(id).await));

    assert!(!write_tx!(world.store, tx => tx.sandbox_destroy(id).await));
    assert_eq!(read_tx!(world.store, tx => tx.sandbox_count(run.task).await), 1);
    assert!(read_tx!(world.store, tx => tx.sandbox_get(id).await).unwrap().destroyed_at.is_some());
}

pub(crate) async fn a_key_finds_the_job_that_one_handle_made_with_it(store: Store) {
    let world = World::new(store).await;
    let run = world.run("a").await;
    let (one, two) = (world.sandbox(&run, 1).await.id, world.sandbox(&run, 2).await.id);
    let keyed = world.exec(&run, one, 3, Some("k")).await;
    let keyless = world.exec(&run, one, 4, None).await;
    let newest = world.exec(&run, one, 5, None).await;

    assert_eq!(read_tx!(world.store, tx => tx.exec_by_key(one, "k").await), Some(keyed));
    assert_eq!(read_tx!(world.store, tx => tx.exec_by_key(two, "k").await), None);
    assert_eq!(read_tx!(world.store, tx => tx.exec_list(one, 2).await), [newest, keyless]);
    assert_eq!(read_tx!(world.store, tx => tx.exec_list(two, 2).await), []);
}

pub(crate) async fn commands_of_a_run_are_counted_apart_from_its_steps(store: Store) {
    let world = World::new(store).await;
    let (run, other) = (world.run("a").await, world.run("b").await);
    world.job(&run, 0).await;
    let sandbox = world.sandbox(&run, 1).await.id;
    world.exec(&run, sandbox, 2, None).await;
    write_tx!(world.store, tx => tx.job_close(sandbox, JobStatus::Completed, None).await);

    let counts = read_tx!(world.store, tx => tx.exec_counts(run.id, STEP).await);
    assert_eq!(counts, ExecCounts { highest: 2, open: 1 });
    let none = read_tx!(world.store, tx => tx.exec_counts(other.id, STEP).await);
    assert_eq!(none, ExecCounts::default());
}

pub(crate) async fn what_ended_commands_left_is_forgotten_up_to_a_number(store: Store) {
    let world = World::new(store).await;
    let run = world.run("a").await;
    let step = world.job(&run, 0).await;
    let sandbox = world.sandbox(&run, 1).await.id;
    let (ended, open) =
        (world.exec(&run, sandbox, 2, None).await, world.exec(&run, sandbox, 3, None).await);
    let newest = world.exec(&run, sandbox, 4, None).await;
    for job in [step, ended, newest] {
        write_tx!(world.store, tx => {
            tx.log_append(job, "stdout", 0, b"said").await?;
            tx.job_close(job, JobStatus::Completed, Some(&json!({ "code": 0 }))).await
        });
    }
    let mut kept = vec![];
    for job in [step, open, newest] {
        kept.push(world.job_now(job).await);
    }

    for _ in 0..2 {
        write_tx!(world.store, tx => tx.exec_delete_payloads(run.id, STEP, 3).await);
    }

    let forgotten = world.job_now(ended).await;
    assert_eq!((forgotten.spec.payload, forgotten.result), (json!({}), None));
    assert_eq!(forgotten.status, JobStatus::Completed);
    assert_eq!(read_tx!(world.store, tx => tx.log_read(ended, "stdout").await), b"");
    for job in kept {
        let id = job.spec.id;
        assert_eq!(world.job_now(id).await, job);
    }
    assert_eq!(read_tx!(world.store, tx => tx.log_read(newest, "stdout").await), b"said");
}

pub(crate) async fn what_ended_commands_left_is_kept_up_to_so_many_bytes_and_the_last_ones_always(
    store: Store,
) {
    const KIB: usize = 1024;
    let world = World::new(store).await;
    let (run, other) = (world.run("a").await, world.run("b").await);
    let (sandbox, elsewhere) = (world.sandbox(&run, 1).await.id, world.sandbox(&other, 1).await.id);
    let (long, text) = (vec![b'x'; 2 * KIB], "y".repeat(3 * KIB));
    let mut jobs = vec![];
    for number in 2..7 {
        jobs.push(world.exec(&run, sandbox, number, None).await);
    }
    let strange = world.exec(&other, elsewhere, 2, None).await;
    // The command that started first ends last; each is a bit more than 5 KiB.
    jobs.rotate_left(1);
    for job in jobs.iter().copied().chain([strange]) {
        let (long, text) = (long.clone(), text.clone());
        write_tx!(world.store, tx => {
            tx.log_append(job, "stdout", 0, &long).await?;
            tx.job_close(job, JobStatus::Completed, Some(&json!(text))).await
        });
    }
    let trim = async |bytes, last| {
        let keep = KeepExecs { bytes, last };
        write_tx!(world.store, tx => tx.exec_trim(run.id, STEP, keep).await);
        let mut kept = vec![];
        for job in jobs.clone() {
            let output = read_tx!(world.store, tx => tx.log_read(job, "stdout").await);
            let has_result = world.job_now(job).await.result.is_some();
            assert_eq!(has_result, !output.is_empty());
            kept.push(has_result);
        }
        kept
    };

    assert_eq!(trim(1024 * 1024, 0).await, [true; 5]);
    for _ in 0..2 {
        assert_eq!(trim(16 * 1024, 1).await, [false, false, true, true, true]);
    }
    assert_eq!(trim(1, 2).await, [false, false, false, true, true]);
    assert_eq!(trim(1, 1).await, [false, false, false, false, true]);
    assert!(world.job_now(strange).await.result.is_some());
}
