//! A list costs a fixed number of statements, and a created task is shown as it is stored.

use cynode_domain::policy::Effect;
use cynode_execution::tasks::{TaskError, views};
use cynode_resources::changes::resolve_authors;
use cynode_store::{AccessChangeFilter, Error, TaskFilter};
use cynode_wire::tasks::{CreateTask, TaskQuery};
use serde_json::json;

use crate::catalogue::Catalogue;
use crate::engines::on_each_engine;
use crate::rules::rule;

on_each_engine! {
    the_statements_of_a_task_list_do_not_depend_on_its_length,
    the_statements_of_a_change_list_do_not_depend_on_its_length,
    a_created_task_is_shown_as_it_is_read_later,
}

fn task(depends_on: &[String]) -> CreateTask {
    let request =
        json!({ "input_mode": "commands", "commands": ["true"], "depends_on": depends_on });
    serde_json::from_value(request).unwrap()
}

async fn the_statements_of_a_task_list_do_not_depend_on_its_length() {
    let fixture = Catalogue::new().await;
    let mut names = vec![];
    for number in 0..20 {
        let depends_on = if number % 3 == 2 { &names[number - 2..] } else { &[] };
        names.push(fixture.tasks.create(fixture.bob(), task(depends_on)).await.unwrap().task_name);
    }
    let statements = |limit| {
        let store = fixture.world.store.clone();
        async move {
            let read = store.read(move |tx| {
                Box::pin(async move {
                    let filter = TaskFilter { limit, ..TaskFilter::default() };
                    let tasks = tx.task_list(&filter).await?;
                    let before = tx.statement_count();
                    let shown = views(tx, tasks).await?;
                    Ok::<_, TaskError>((shown.len(), tx.statement_count() - before))
                })
            });
            read.await.unwrap()
        }
    };

    let (few, many) = (statements(3).await, statements(20).await);

    assert_eq!((few.0, many.0), (3, 20));
    assert!(many.1 <= few.1 && many.1 <= 5, "{few:?}, {many:?}");
    let listed = fixture.tasks.list(fixture.bob(), TaskQuery::default()).await.unwrap().items;
    for shown in listed.iter().take(6) {
        assert_eq!(*shown, fixture.tasks.get(fixture.bob(), &shown.id.into()).await.unwrap());
    }
}

async fn the_statements_of_a_change_list_do_not_depend_on_its_length() {
    let fixture = Catalogue::new().await;
    for pattern in ["db.*", "web.*", "help.*"] {
        let rule = rule(Effect::Deny, pattern);
        fixture.world.rules.create(&fixture.world.admin, rule).await.unwrap();
    }
    let read = fixture.world.store.read(|tx| {
        Box::pin(async move {
            let changes = tx.access_changes(&AccessChangeFilter::default(), None, 50).await?;
            let before = tx.statement_count();
            let named = resolve_authors(tx, changes).await?;
            Ok::<_, Error>((named, tx.statement_count() - before))
        })
    });

    let (named, statements) = read.await.unwrap();

    let authored = named.iter().filter(|(_, handle)| handle.as_deref() == Some("admin"));
    assert_eq!(authored.count(), 3, "{named:?}");
    assert_eq!(statements, 1);
}

async fn a_created_task_is_shown_as_it_is_read_later() {
    let fixture = Catalogue::new().await;
    let first = fixture.tasks.create(fixture.bob(), task(&[])).await.unwrap();

    let created = fixture.tasks.create(fixture.bob(), task(&[first.task_name])).await.unwrap();

    assert_eq!(created.depends_on, [first.id]);
    assert_eq!(created, fixture.tasks.get(fixture.bob(), &created.id.into()).await.unwrap());
}
