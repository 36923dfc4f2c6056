//! Tests of preferences.

use cynode_domain::ids::{GroupId, PreferenceId, ProjectId, TaskId, UserId};
use cynode_domain::preference::Scope;
use cynode_store::{Preference, Store};
use serde_json::{Value, json};

use crate::world::at;

pub(crate) fn preference(scope: Scope, key: &str, value: Value) -> Preference {
    Preference {
        id: PreferenceId::generate(),
        scope,
        key: key.to_owned(),
        value,
        value_type: "string".to_owned(),
        version: 1,
        updated_at: at(1),
        updated_by: Some(UserId::generate()),
    }
}

pub(crate) async fn a_scope_has_one_preference_for_a_key(store: Store) {
    let scopes = [
        Scope::System,
        Scope::Group(GroupId::generate()),
        Scope::User(UserId::generate()),
        Scope::Project(ProjectId::generate()),
        Scope::Task(TaskId::generate()),
        Scope::Task(TaskId::generate()),
    ];
    for scope in scopes {
        let row = preference(scope, "a.b", json!(format!("{scope:?}")));
        let (first, second) = (row.clone(), preference(scope, "a.b", json!("second")));
        assert!(write_tx!(store, tx => tx.preference_insert(&first).await));
        assert!(!write_tx!(store, tx => tx.preference_insert(&second).await), "{scope:?}");
        assert_eq!(read_tx!(store, tx => tx.preference_get(scope, "a.b").await), Some(row));
        assert_eq!(read_tx!(store, tx => tx.preference_get(scope, "A.b").await), None);
        assert_eq!(read_tx!(store, tx => tx.preference_count(scope).await), 1);
    }
}

pub(crate) async fn preferences_of_several_scopes_come_scope_by_scope(store: Store) {
    let (user, project) = (UserId::generate(), ProjectId::generate());
    let scopes = [Scope::System, Scope::User(user), Scope::Project(project)];
    let others = [Scope::User(UserId::generate()), Scope::Task(TaskId::generate())];
    let mut expected = vec![];
    for scope in scopes.into_iter().chain(others) {
        for key in ["b", "B", "a"] {
            let row = preference(scope, key, json!(key));
            expected.push(row.clone());
            assert!(write_tx!(store, tx => tx.preference_insert(&row).await));
        }
    }
    expected.truncate(9);
    expected.sort_by_key(|row| (scopes.iter().position(|s| *s == row.scope), row.key.clone()));

    let found = read_tx!(store, tx => tx.preference_list_scopes(&scopes).await);

    assert_eq!(found, expected);
    assert_eq!(read_tx!(store, tx => tx.preference_list_scopes(&[]).await), []);
}

pub(crate) async fn a_preference_is_replaced_and_removed_by_version(store: Store) {
    let first = preference(Scope::System, "a", Value::Null);
    let row = first.clone();
    write_tx!(store, tx => tx.preference_insert(&row).await);
    for version in [1, 3] {
        let stale = Preference { version, ..first.clone() };
        assert!(!write_tx!(store, tx => tx.preference_update(&stale).await), "{version}");
    }
    let second = Preference {
        value: json!({"b": [1, "\u{0}"]}),
        value_type: "object".to_owned(),
        version: 2,
        updated_at: at(2),
        updated_by: None,
        ..first.clone()
    };
    let row = second.clone();

    assert!(write_tx!(store, tx => tx.preference_update(&row).await));

    let found = read_tx!(store, tx => tx.preference_get(Scope::System, "a").await);
    assert_eq!(found, Some(second));
    assert!(!write_tx!(store, tx => tx.preference_delete(first.id, 1).await));
    assert!(write_tx!(store, tx => tx.preference_delete(first.id, 2).await));
    assert_eq!(read_tx!(store, tx => tx.preference_get(Scope::System, "a").await), None);
}

pub(crate) async fn preferences_are_listed_by_prefix_and_page_within_their_scope(store: Store) {
    let scope = Scope::User(UserId::generate());
    for key in ["code.b", "code.a", "Code.c", "other", "code.A"] {
        let (row, other) =
            (preference(scope, key, json!("x")), preference(Scope::System, key, json!("y")));
        write_tx!(store, tx => {
            tx.preference_insert(&row).await?;
            tx.preference_insert(&other).await
        });
    }
    let keys = |entries: Vec<Preference>| -> Vec<String> {
        entries.into_iter().map(|entry| entry.key).collect()
    };

    let all = read_tx!(store, tx => tx.preference_list(scope, "code.", None, 10).await);
    let second = read_tx!(store, tx => tx.preference_list(scope, "code.", Some("code.A"), 1).await);
    let every = read_tx!(store, tx => tx.preference_list(Scope::System, "", None, 10).await);

    assert_eq!(keys(all), ["code.A", "code.a", "code.b"]);
    assert_eq!(keys(second), ["code.a"]);
    assert_eq!(every.len(), 5);
}
