//! Preferences: which win, who writes them, and the record of their changes.

use cynode_domain::ids::{GroupId, PreferenceId};
use cynode_domain::preference::{Scope, ScopeKind, ValueType};
use cynode_execution::{preferences::PreferenceError, preferences::Subject};
use cynode_resources::Caller;
use cynode_resources::settings::SettingError;
use cynode_store::Preference;
use cynode_wire::page::PageQuery;
use cynode_wire::preferences::{PreferenceKey, RemovePreference, WritePreference};
use cynode_wire::settings::SetSetting;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::catalogue::Catalogue;
use crate::engines::on_each_engine;

on_each_engine! {
    stronger_scopes_win_and_show_where_values_come_from,
    a_stored_preference_of_a_wrong_type_is_reported_and_hides_nothing,
    preferences_change_by_version_and_every_change_is_on_record,
    preferences_of_others_are_neither_seen_nor_written,
    what_a_key_cannot_be_is_refused_with_what_is_allowed,
}

fn wanted(scope_type: ScopeKind, scope_id: Option<Uuid>) -> PreferenceKey {
    PreferenceKey { scope_type, scope_id, key: "output.summary_style".to_owned() }
}

fn written(value: Value) -> WritePreference {
    WritePreference { value, value_type: ValueType::String, expected_version: None, reason: None }
}

impl Catalogue {
    async fn set(&self, who: &Caller, wanted: &PreferenceKey, value: Value) {
        let made = self.preferences.create(who, wanted.clone(), written(value)).await;
        assert_eq!(made.unwrap().version, 1);
    }
}

async fn stronger_scopes_win_and_show_where_values_come_from() {
    let its = Catalogue::new().await;
    let (bob, admin) = (its.bob(), &its.world.admin);
    let project = wanted(ScopeKind::Project, Some(its.task.project_id.into()));
    let task = wanted(ScopeKind::Task, Some(its.task.id.into()));
    let effective = async |subject| {
        let view = its.preferences.effective(bob, subject, true).await.unwrap();
        let key = "output.summary_style";
        let source = view.sources.unwrap().get(key).map(|source| source.scope_type);
        (view.effective.get(key).cloned(), source)
    };
    let of_task = Subject::Task(its.task.id);
    assert_eq!(effective(of_task).await, (None, None));

    its.set(admin, &wanted(ScopeKind::System, None), json!("system")).await;
    assert_eq!(effective(of_task).await, (Some(json!("system")), Some(ScopeKind::System)));
    its.set(bob, &wanted(ScopeKind::User, None), json!("bob")).await;
    assert_eq!(effective(of_task).await, (Some(json!("bob")), Some(ScopeKind::User)));
    its.set(bob, &project, json!("project")).await;
    assert_eq!(effective(of_task).await, (Some(json!("project")), Some(ScopeKind::Project)));
    its.set(bob, &task, Value::Null).await;
    assert_eq!(effective(of_task).await, (Some(Value::Null), Some(ScopeKind::Task)));

    let of_project = Subject::Project(its.task.project_id);
    assert_eq!(effective(of_project).await.0, Some(json!("project")));
    assert_eq!(effective(Subject::Caller).await.0, Some(json!("bob")));
    its.preferences.remove(bob, task, RemovePreference::default()).await.unwrap();
    assert_eq!(effective(of_task).await.0, Some(json!("project")));
    let by_admin = its.preferences.effective(admin, of_task, false).await.unwrap();
    assert_eq!((by_admin.sources, by_admin.effective.len()), (None, 1));
}

async fn a_stored_preference_of_a_wrong_type_is_reported_and_hides_nothing() {
    let its = Catalogue::new().await;
    its.set(&its.world.admin, &wanted(ScopeKind::System, None), json!("system")).await;
    let bob = its.bob().user;
    let odd = Preference {
        id: PreferenceId::generate(),
        scope: Scope::User(bob),
        key: "output.summary_style".to_owned(),
        value: json!(7),
        value_type: "string".to_owned(),
        version: 1,
        updated_at: chrono::DateTime::UNIX_EPOCH,
        updated_by: None,
    };
    let put: Result<bool, cynode_store::Error> = its
        .world
        .store
        .write(move |tx| Box::pin(async move { tx.preference_insert(&odd).await }))
        .await;
    assert!(put.unwrap());

    let view = its.preferences.effective(its.bob(), Subject::Caller, false).await.unwrap();

    assert_eq!(view.effective["output.summary_style"], json!("system"));
    assert_eq!(view.skipped.len(), 1);
    assert_eq!(view.skipped[0].reason, "its value is not of type string");
}

async fn preferences_change_by_version_and_every_change_is_on_record() {
    let its = Catalogue::new().await;
    let (bob, own) = (its.bob(), wanted(ScopeKind::User, None));
    its.set(bob, &own, json!("concise")).await;

    let again = its.preferences.create(bob, own.clone(), written(json!("x"))).await;
    let stale = WritePreference { expected_version: Some(7), ..written(json!("x")) };
    let stale = its.preferences.update(bob, own.clone(), stale).await;
    let mistyped = its.preferences.update(bob, own.clone(), written(json!(7))).await;
    let reason = Some("too long".to_owned());
    let fresh = WritePreference { expected_version: Some(1), reason, ..written(json!("detailed")) };
    let fresh = its.preferences.update(bob, own.clone(), fresh).await.unwrap();
    let removed = RemovePreference { expected_version: Some(1), reason: None };
    let late = its.preferences.remove(bob, own.clone(), removed).await;

    assert!(matches!(again, Err(PreferenceError::Exists { found: 1, .. })));
    assert!(matches!(stale, Err(PreferenceError::Conflict { found: 1 })));
    assert!(matches!(mistyped, Err(PreferenceError::Invalid(_))));
    assert_eq!((fresh.version, fresh.updated_by), (2, Some(bob.user)));
    assert!(matches!(late, Err(PreferenceError::Conflict { found: 2 })));
    let scope = Scope::User(bob.user);
    let changes: Result<_, cynode_store::Error> = its
        .world
        .store
        .read(move |tx| {
            Box::pin(
                async move { tx.preference_changes(scope, "output.summary_style", None, 10).await },
            )
        })
        .await;
    let changes: Vec<_> =
        changes.unwrap().into_iter().map(|c| (c.old, c.new, c.by, c.reason)).collect();
    let (concise, detailed) = (Some(json!("concise")), Some(json!("detailed")));
    let (by, reason) = (Some(bob.user), Some("too long".to_owned()));
    assert_eq!(changes, [(concise.clone(), detailed, by, reason), (None, concise, by, None)]);
}

async fn preferences_of_others_are_neither_seen_nor_written() {
    let its = Catalogue::new().await;
    let (bob, eve) = (its.bob(), &its.eve);
    let of_bob = wanted(ScopeKind::User, Some(bob.user.into()));
    let of_task = wanted(ScopeKind::Task, Some(its.task.id.into()));
    let of_project = wanted(ScopeKind::Project, Some(its.task.project_id.into()));
    let of_group = wanted(ScopeKind::Group, Some(GroupId::generate().into()));

    let by_bob = its.preferences.create(bob, wanted(ScopeKind::System, None), written(json!("x")));
    let by_bob = by_bob.await;
    let of_group = its.preferences.create(bob, of_group, written(json!("x"))).await;
    let nameless = its.preferences.get(bob, wanted(ScopeKind::Task, None)).await;

    assert!(matches!(by_bob, Err(PreferenceError::Forbidden(_))));
    assert!(matches!(of_group, Err(PreferenceError::Forbidden(_))), "{of_group:?}");
    assert!(matches!(nameless, Err(PreferenceError::Scope(_))));
    for wanted in [of_bob, of_task, of_project] {
        let (kind, id) = (wanted.scope_type, wanted.scope_id);
        its.set(bob, &wanted, json!("mine")).await;
        let page = PageQuery::default();
        assert!(its.preferences.get(eve, wanted.clone()).await.is_err(), "{kind}");
        assert!(its.preferences.list(eve, kind, id, "", &page).await.is_err(), "{kind}");
        assert!(its.preferences.update(eve, wanted.clone(), written(json!("x"))).await.is_err());
        let listed = its.preferences.list(bob, kind, id, "output.", &page).await.unwrap();
        assert_eq!(listed.items[0].value, json!("mine"));
    }
}

async fn what_a_key_cannot_be_is_refused_with_what_is_allowed() {
    let its = Catalogue::new().await;
    let budget = |key: &str| PreferenceKey { key: key.to_owned(), ..wanted(ScopeKind::User, None) };
    let set = |value| SetSetting { value, expected_version: None, reason: None };

    let preference =
        its.preferences.put(its.bob(), budget("budget.run_usd"), written(json!("abc"))).await;
    let dots = its.preferences.put(its.bob(), budget(".."), written(json!("abc"))).await;
    let admin = &its.world.admin;
    let setting = its.world.settings.set(admin, "budget.day_usd", set(json!("0 USD"))).await;
    let other = its.world.settings.set(admin, "models.hints.quick", set(json!("a/b"))).await;

    let allowed = "budget.run_usd must be a number of US dollars, 0 or more; got \"abc\"";
    assert_eq!(preference.unwrap_err().to_string(), allowed);
    assert!(dots.unwrap_err().to_string().starts_with("a key has"));
    assert!(matches!(setting, Err(SettingError::Invalid(why)) if why.contains("0 or more")));
    assert!(matches!(other, Err(SettingError::Invalid(why)) if why.contains("models.hints.fast")));
}
