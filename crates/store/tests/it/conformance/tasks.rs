//! Tests of tasks and their dependencies.

use chrono::TimeDelta;
use cynode_domain::criteria::Criterion;
use cynode_domain::ids::{ProjectId, TaskId, UserId};
use cynode_domain::plan::InputMode;
use cynode_domain::status::TaskStatus;
use cynode_store::{Error, NewTask, Store, TaskFilter};

use crate::world::{World, project};

pub(crate) async fn a_task_reads_back_as_it_was_asked(store: Store) {
    let world = World::new(store).await;
    for (name, input_mode) in
        [("a", InputMode::Prompt), ("b", InputMode::Script), ("c", InputMode::Commands)]
    {
        let prompt = "zwei Zeilen\n\"für\" 'dich' \\ $1 – 😀".to_owned();
        let request = NewTask { input_mode, prompt, ..world.new_task(name) };
        let id = world.add(request.clone()).await.unwrap();

        let task = world.task_now(id).await;

        assert_eq!(task.spec, request);
        assert_eq!((task.status, task.summary), (TaskStatus::Pending, None));
        assert_eq!((task.started_at, task.ended_at), (None, None));
        assert_eq!(write_tx!(world.store, tx => tx.task_lock(id).await).unwrap().spec, request);
    }
    assert_eq!(read_tx!(world.store, tx => tx.task_get(TaskId::generate()).await), None);
}

pub(crate) async fn a_name_is_taken_for_one_user_only(store: Store) {
    let world = World::new(store).await;
    let (user, other) = (world.user, world.other_user("bob").await);
    let first = world.task("build").await;

    assert_eq!(world.add(world.new_task("build")).await, None);
    let of_bob = NewTask { created_by: other, ..world.new_task("build") };
    let second = world.add(of_bob).await;

    let found = read_tx!(world.store, tx => tx.task_by_name(user, "build").await);
    assert_eq!(found.unwrap().spec.id, first);
    let found = read_tx!(world.store, tx => tx.task_by_name(other, "build").await);
    assert_eq!(found.map(|task| task.spec.id), second);
}

pub(crate) async fn an_idempotency_key_gives_one_task(store: Store) {
    let world = World::new(store).await;
    let (user, other) = (world.user, world.other_user("bob").await);
    let keyed = |name, created_by| {
        let idempotency_key = Some("key".to_owned());
        NewTask { created_by, idempotency_key, ..world.new_task(name) }
    };
    let first = world.add(keyed("one", user)).await;

    assert_eq!(world.add(keyed("two", user)).await, None);
    assert!(world.add(keyed("three", other)).await.is_some());

    let found = read_tx!(world.store, tx => tx.task_by_key(user, "key").await);
    assert_eq!(found.map(|task| task.spec.id), first);
    assert_eq!(read_tx!(world.store, tx => tx.task_by_key(user, "lock").await), None);
}

pub(crate) async fn a_task_of_an_unknown_user_is_refused(store: Store) {
    let world = World::new(store).await;
    let orphan = NewTask { created_by: UserId::generate(), ..world.new_task("orphan") };

    let refused = try_write_tx!(world.store, tx => tx.task_insert(&orphan).await);

    assert!(matches!(refused, Err(Error::Statement(_))));
}

pub(crate) async fn tasks_are_paged_newest_first_under_every_filter(store: Store) {
    let world = World::new(store).await;
    let (user, other) = (world.user, world.other_user("bob").await);
    let second = project("loom", user);
    let loom = second.id;
    write_tx!(world.store, tx => tx.project_insert(&second).await);
    let mut tasks = vec![];
    for (name, created_by, project) in [
        ("a", user, world.project),
        ("b", user, loom),
        ("c", other, loom),
        ("d", user, world.project),
    ] {
        let new = NewTask { created_by, project, ..world.new_task(name) };
        tasks.push(world.add(new).await.unwrap());
    }
    let d = tasks[3];
    write_tx!(world.store, tx => tx.task_set_status(d, TaskStatus::Running, None).await);
    let all = TaskFilter { limit: 10, ..TaskFilter::default() };
    let by = |created_by: UserId| TaskFilter { created_by: Some(created_by), ..all.clone() };
    let within = |project: ProjectId| TaskFilter { project: Some(project), ..all.clone() };

    for (filter, expected) in [
        (all.clone(), vec!["d", "c", "b", "a"]),
        (by(user), vec!["d", "b", "a"]),
        (within(loom), vec!["c", "b"]),
        (TaskFilter { status: Some(TaskStatus::Running), ..all.clone() }, vec!["d"]),
        (TaskFilter { limit: 2, ..by(user) }, vec!["d", "b"]),
        (TaskFilter { before: Some(tasks[1]), ..by(user) }, vec!["a"]),
        (TaskFilter { status: Some(TaskStatus::Failed), ..all.clone() }, vec![]),
    ] {
        let request = filter.clone();
        let page = read_tx!(world.store, tx => tx.task_list(&request).await);
        let names: Vec<_> = page.iter().map(|task| task.spec.name.as_str()).collect();
        assert_eq!(names, expected, "{filter:?}");
    }
}

pub(crate) async fn a_closed_task_never_changes(store: Store) {
    let world = World::new(store).await;
    for &end in TaskStatus::ALL.iter().filter(|status| status.is_terminal()) {
        let id = world.task(end.as_str()).await;
        assert!(write_tx!(world.store, tx => tx.task_set_status(id, end, Some("done")).await));
        let closed = world.task_now(id).await;
        assert_eq!((closed.status, closed.summary.as_deref()), (end, Some("done")));
        assert!(closed.ended_at.is_some());

        for &next in TaskStatus::ALL {
            let moved =
                write_tx!(world.store, tx => tx.task_set_status(id, next, Some("no")).await);
            assert!(!moved, "{end} was overwritten by {next}");
        }
        let mut other = closed.clone();
        "other".clone_into(&mut other.spec.name);
        assert!(!write_tx!(world.store, tx => tx.task_update(&other).await));
        assert_eq!(world.task_now(id).await, closed);
    }
}

pub(crate) async fn an_open_task_takes_another_name_and_other_criteria(store: Store) {
    let world = World::new(store).await;
    let (id, other) = (world.task("build").await, world.task("other").await);
    let mut task = world.task_now(id).await;
    let untouched = world.task_now(other).await;
    "make".clone_into(&mut task.spec.name);
    task.spec.acceptance_criteria =
        vec![Criterion::Text { description: "läuft „gut“ \\".to_owned() }];
    task.updated_at += TimeDelta::microseconds(1);
    let update = task.clone();

    assert!(write_tx!(world.store, tx => tx.task_update(&update).await));

    assert_eq!(world.task_now(id).await, task);
    assert_eq!(world.task_now(other).await, untouched);
}

pub(crate) async fn a_running_task_keeps_the_time_it_started(store: Store) {
    let world = World::new(store).await;
    let id = world.task("build").await;
    write_tx!(world.store, tx => tx.task_set_status(id, TaskStatus::Running, Some("began")).await);
    let started = world.task_now(id).await.started_at;
    assert!(started.is_some());

    write_tx!(world.store, tx => tx.task_set_status(id, TaskStatus::Running, None).await);

    let task = world.task_now(id).await;
    assert_eq!((task.started_at, task.summary.as_deref()), (started, Some("began")));
    assert_eq!(task.ended_at, None);
}

pub(crate) async fn tasks_are_counted_by_status(store: Store) {
    let world = World::new(store).await;
    let [a, b, _] = [world.task("a").await, world.task("b").await, world.task("c").await];
    write_tx!(world.store, tx => tx.task_set_status(a, TaskStatus::Running, None).await);
    write_tx!(world.store, tx => tx.task_set_status(b, TaskStatus::Completed, None).await);

    for (status, expected) in [
        (TaskStatus::Pending, 1),
        (TaskStatus::Running, 1),
        (TaskStatus::Completed, 1),
        (TaskStatus::Failed, 0),
    ] {
        assert_eq!(read_tx!(world.store, tx => tx.task_count(status).await), expected, "{status}");
    }
}

pub(crate) async fn dependencies_are_kept_once_and_seen_from_both_ends(store: Store) {
    let world = World::new(store).await;
    let [a, b, c] = [world.task("a").await, world.task("b").await, world.task("c").await];
    for (task, on) in [(c, a), (c, b), (c, b), (b, a)] {
        write_tx!(world.store, tx => tx.dependency_insert(task, on).await);
    }

    assert_eq!(read_tx!(world.store, tx => tx.dependency_list(c).await), [a, b]);
    assert_eq!(read_tx!(world.store, tx => tx.dependency_list_dependents(a).await), [b, c]);

    write_tx!(world.store, tx => tx.task_set_status(b, TaskStatus::Canceled, None).await);
    assert_eq!(read_tx!(world.store, tx => tx.dependency_list_dependents(a).await), [c]);
    assert_eq!(read_tx!(world.store, tx => tx.dependency_list(c).await), [a, b]);
}

pub(crate) async fn a_task_cannot_wait_for_itself(store: Store) {
    let world = World::new(store).await;
    let a = world.task("a").await;

    let refused = try_write_tx!(world.store, tx => tx.dependency_insert(a, a).await);

    assert!(matches!(refused, Err(Error::Statement(_))));
    assert_eq!(read_tx!(world.store, tx => tx.dependency_list(a).await), []);
}
