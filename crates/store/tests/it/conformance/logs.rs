//! Tests of the output of jobs.

use cynode_domain::ids::JobId;
use cynode_store::Store;

use crate::world::World;

impl World {
    async fn append(&self, job: JobId, stream: &'static str, offset: i64, data: &[u8]) -> i64 {
        let data = data.to_vec();
        write_tx!(self.store, tx => tx.log_append(job, stream, offset, &data).await)
    }

    async fn log(&self, job: JobId, stream: &'static str) -> Vec<u8> {
        read_tx!(self.store, tx => tx.log_read(job, stream).await)
    }
}

pub(crate) async fn output_is_kept_in_order_and_byte_for_byte(store: Store) {
    let world = World::new(store).await;
    let job = world.job(&world.run("a").await, 0).await;
    assert!(world.log(job, "stdout").await.is_empty());
    let every_byte: Vec<u8> = (0..=255).collect();

    assert_eq!(world.append(job, "stdout", 0, &every_byte).await, 256);
    for chunk in 0..12 {
        assert_eq!(world.append(job, "stdout", 256 + chunk, b"x").await, 257 + chunk);
    }

    let expected = [every_byte.as_slice(), &[b'x'; 12]].concat();
    assert_eq!(world.log(job, "stdout").await, expected);
}

pub(crate) async fn a_repeated_piece_of_output_changes_nothing(store: Store) {
    let world = World::new(store).await;
    let job = world.job(&world.run("a").await, 0).await;
    world.append(job, "stdout", 0, b"hello").await;

    assert_eq!(world.append(job, "stdout", 0, b"hello").await, 5);
    assert_eq!(world.append(job, "stdout", 0, b"HELLO, all").await, 5);
    assert_eq!(world.append(job, "stdout", 3, b"lo").await, 5);
    assert_eq!(world.append(job, "stdout", 5, b"").await, 5);

    assert_eq!(world.log(job, "stdout").await, b"hello");
}

pub(crate) async fn a_gap_in_the_output_is_refused(store: Store) {
    let world = World::new(store).await;
    let job = world.job(&world.run("a").await, 0).await;

    assert_eq!(world.append(job, "stdout", 3, b"later").await, 0);
    world.append(job, "stdout", 0, b"one").await;
    assert_eq!(world.append(job, "stdout", 4, b"gap").await, 3);
    assert_eq!(world.append(job, "stdout", 3, b"two").await, 6);

    assert_eq!(world.log(job, "stdout").await, b"onetwo");
}

pub(crate) async fn streams_and_jobs_are_kept_apart(store: Store) {
    let world = World::new(store).await;
    let run = world.run("a").await;
    let (one, two) = (world.job(&run, 0).await, world.job(&run, 1).await);

    world.append(one, "stdout", 0, b"1 out").await;
    world.append(one, "stderr", 0, b"1 err").await;
    world.append(two, "stdout", 0, b"2 out").await;

    assert_eq!(world.log(one, "stdout").await, b"1 out");
    assert_eq!(world.log(one, "stderr").await, b"1 err");
    assert_eq!(world.log(two, "stdout").await, b"2 out");
    assert!(world.log(two, "stderr").await.is_empty());
}
