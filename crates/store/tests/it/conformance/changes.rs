//! Tests of the change log.

use cynode_domain::ids::{PreferenceId, UserId};
use cynode_domain::preference::Scope;
use cynode_store::{
    AccessChange, AccessChangeFilter, ChangeRecord, PreferenceChange, SettingChange, Store,
};
use serde_json::{Value, json};

use super::preferences::preference;
use crate::world::at;

fn actions(changes: &[ChangeRecord]) -> Vec<&str> {
    changes.iter().map(|change| change.action.as_str()).collect()
}

fn of_preference(scope: Scope, old: Option<Value>, new: Option<Value>) -> PreferenceChange {
    PreferenceChange {
        entry: PreferenceId::generate(),
        scope,
        key: "a".to_owned(),
        old,
        new,
        by: None,
        at: at(1),
        reason: None,
    }
}

pub(crate) async fn changes_of_a_preference_outlive_it(store: Store) {
    let row = preference(Scope::System, "a", json!("x"));
    let by = row.updated_by;
    let made = PreferenceChange {
        entry: row.id,
        by,
        ..of_preference(Scope::System, None, Some(Value::Null))
    };
    let removed = PreferenceChange {
        old: Some(Value::Null),
        new: None,
        at: at(2),
        reason: Some("tidying".to_owned()),
        ..made.clone()
    };
    let again = of_preference(Scope::System, None, Some(json!("y")));
    let another = of_preference(Scope::User(UserId::generate()), None, Some(json!("z")));

    write_tx!(store, tx => {
        tx.preference_insert(&row).await?;
        tx.preference_change_append(&made).await?;
        tx.preference_delete(row.id, 1).await?;
        for change in [&removed, &again, &another] {
            tx.preference_change_append(change).await?;
        }
        Ok::<_, cynode_store::Error>(())
    });

    let all = read_tx!(store, tx => tx.preference_changes(Scope::System, "a", None, 10).await);
    assert_eq!(actions(&all), ["preference.create", "preference.remove", "preference.create"]);
    let middle = &all[1];
    assert_eq!((&middle.old, &middle.new), (&Some(Value::Null), &None));
    assert_eq!((middle.by, middle.at, middle.reason.as_deref()), (by, at(2), Some("tidying")));
    assert_eq!((&*middle.resource_type, &*middle.resource), ("preference", "a"));
    let before = Some(all[0].id);
    let rest = read_tx!(store, tx => tx.preference_changes(Scope::System, "a", before, 1).await);
    assert_eq!(rest, all[1..2]);
    assert_eq!(read_tx!(store, tx => tx.preference_changes(Scope::System, "b", None, 9).await), []);
}

pub(crate) async fn changes_of_a_setting_are_its_own_and_newest_first(store: Store) {
    let steps = [(None, Some(json!(1))), (Some(json!(1)), Some(json!(2))), (Some(json!(2)), None)];
    for (key, (old, new)) in
        steps.into_iter().map(|step| ("a.b", step)).chain([("other", (None, Some(json!(3))))])
    {
        let (by, reason) = (Some(UserId::generate()), Some("why".to_owned()));
        let change = SettingChange { key: key.to_owned(), old, new, by, at: at(3), reason };
        write_tx!(store, tx => tx.setting_change_append(&change).await);
    }

    let all = read_tx!(store, tx => tx.setting_changes("a.b", None, 10).await);
    let before = Some(all[1].id);
    let rest = read_tx!(store, tx => tx.setting_changes("a.b", before, 10).await);

    assert_eq!(actions(&all), ["setting.remove", "setting.update", "setting.create"]);
    assert_eq!((&all[1].old, &all[1].new), (&Some(json!(1)), &Some(json!(2))));
    assert_eq!(all[1].reason.as_deref(), Some("why"));
    assert_eq!(rest, all[2..]);
}

pub(crate) async fn changes_of_access_are_found_by_thing_and_by_who_made_them(store: Store) {
    let (ada, bob) = (UserId::generate(), UserId::generate());
    let made = [
        (Some(ada), "rule.create", "access_control_rule", "1"),
        (Some(bob), "credential.set", "api_credential", "1"),
        (None, "credential.rekey", "api_credential", "2"),
        (Some(ada), "credential.remove", "api_credential", "1"),
    ];
    for (by, action, resource_type, resource) in made {
        let change = AccessChange {
            by,
            action,
            resource_type,
            resource: resource.to_owned(),
            allowed: true,
            reason: Some("about it".to_owned()),
            task: None,
            at: at(1),
        };
        write_tx!(store, tx => tx.access_change_append(&change).await);
    }
    let kind = Some("api_credential".to_owned());
    let of_kind = AccessChangeFilter { resource_type: kind, ..AccessChangeFilter::default() };
    let of_one = AccessChangeFilter { resource: Some("1".to_owned()), ..of_kind.clone() };
    let of_bob = AccessChangeFilter { by: Some(bob), ..of_one.clone() };

    let all = read_tx!(store, tx => tx.access_changes(&of_kind, None, 10).await);
    let one = read_tx!(store, tx => tx.access_changes(&of_one, None, 10).await);
    let bobs = read_tx!(store, tx => tx.access_changes(&of_bob, None, 10).await);
    let (of_one, before) = (AccessChangeFilter::default(), Some(all[0].id));
    let next = read_tx!(store, tx => tx.access_changes(&of_one, before, 1).await);

    assert_eq!(actions(&all), ["credential.remove", "credential.rekey", "credential.set"]);
    assert_eq!(
        all.iter().map(|change| change.by).collect::<Vec<_>>(),
        [Some(ada), None, Some(bob)]
    );
    assert_eq!(actions(&one), ["credential.remove", "credential.set"]);
    assert_eq!(actions(&bobs), ["credential.set"]);
    assert_eq!(next, all[1..2]);
    assert_eq!(next[0].reason.as_deref(), Some("about it"));
}
