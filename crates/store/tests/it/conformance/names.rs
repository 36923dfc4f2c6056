//! Tests of numbered task names.

use cynode_store::{NewTask, Store};

use crate::world::World;

impl World {
    async fn tasks(&self, names: &[&str]) {
        for name in names {
            self.task(name).await;
        }
    }

    async fn highest(&self, stem: &'static str) -> u32 {
        let user = self.user;
        read_tx!(self.store, tx => tx.task_highest_number(user, stem).await)
    }
}

pub(crate) async fn a_free_stem_has_no_number(store: Store) {
    let world = World::new(store).await;
    world.tasks(&["ab", "b", "a2"]).await;

    assert_eq!(world.highest("a").await, 0);
}

pub(crate) async fn ten_comes_after_nine(store: Store) {
    let world = World::new(store).await;
    world.task("a").await;
    assert_eq!(world.highest("a").await, 1);
    for number in 2..=9 {
        world.task(&format!("a-{number}")).await;
        assert_eq!(world.highest("a").await, number);
    }

    world.task("a-10").await;

    assert_eq!(world.highest("a").await, 10);
}

pub(crate) async fn a_numbered_name_counts_without_its_stem(store: Store) {
    let world = World::new(store).await;
    world.tasks(&["a-2", "a-2-3"]).await;

    assert_eq!(world.highest("a").await, 2);
    assert_eq!(world.highest("a-2").await, 3);
}

pub(crate) async fn longer_names_do_not_hide_the_numbered_ones(store: Store) {
    let world = World::new(store).await;
    world.tasks(&["a", "a-2", "a-3"]).await;
    for number in 0..30 {
        world.task(&format!("a-very-long-name-{number}")).await;
        world.task(&format!("abc-{number}")).await;
    }

    assert_eq!(world.highest("a").await, 3);
    assert_eq!(world.highest("a-very-long-name").await, 29);
}

pub(crate) async fn only_names_we_would_number_ourselves_count(store: Store) {
    let world = World::new(store).await;
    world.tasks(&["a-7", "a-008", "a-20260101123456", "a-9b", "a-1-2", "a-"]).await;

    assert_eq!(world.highest("a").await, 7);
}

pub(crate) async fn another_users_names_do_not_count(store: Store) {
    let world = World::new(store).await;
    let other = world.other_user("bob").await;
    world.task("a").await;
    world.add(NewTask { created_by: other, ..world.new_task("a-5") }).await;

    assert_eq!(world.highest("a").await, 1);
}
