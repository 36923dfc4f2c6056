//! Preferences: which win, who writes them, and the record of their changes.

use cynode_domain::ids::{GroupId, PreferenceId};
use cynode_domain::preference::{Scope, ScopeKind, ValueType};
use cynode_resources::Caller;
use cynode_resources::preferences::{PreferenceError, PreferenceSubject};
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
    async fn set(&self, who: &Caller, preference: &PreferenceKey, value: Value) {
        let made = self.preferences.create(who, preference.clone(), written(value)).await;
        assert_eq!(made.unwrap().version, 1);
    }
}

async fn stronger_scopes_win_and_show_where_values_come_from() {
    let fixture = Catalogue::new().await;
    let (bob, admin) = (fixture.bob(), &fixture.world.admin);
    let project = wanted(ScopeKind::Project, Some(fixture.task.project_id.into()));
    let task = wanted(ScopeKind::Task, Some(fixture.task.id.into()));
    let effective = async |subject| {
        let view = fixture.preferences.effective(bob, subject, true).await.unwrap();
        let key = "output.summary_style";
        let source = view.sources.unwrap().get(key).map(|source| source.scope_type);
        (view.effective.get(key).cloned(), source)
    };
    let of_task = PreferenceSubject::Task(fixture.task.id);
    assert_eq!(effective(of_task).await, (None, None));

    fixture.set(admin, &wanted(ScopeKind::System, None), json!("system")).await;
    assert_eq!(effective(of_task).await, (Some(json!("system")), Some(ScopeKind::System)));
    fixture.set(bob, &wanted(ScopeKind::User, None), json!("bob")).await;
    assert_eq!(effective(of_task).await, (Some(json!("bob")), Some(ScopeKind::User)));
    fixture.set(bob, &project, json!("project")).await;
    assert_eq!(effective(of_task).await, (Some(json!("project")), Some(ScopeKind::Project)));
    fixture.set(bob, &task, Value::Null).await;
    assert_eq!(effective(of_task).await, (Some(Value::Null), Some(ScopeKind::Task)));

    let of_project = PreferenceSubject::Project(fixture.task.project_id);
    assert_eq!(effective(of_project).await.0, Some(json!("project")));
    assert_eq!(effective(PreferenceSubject::Caller).await.0, Some(json!("bob")));
    fixture.preferences.remove(bob, task, RemovePreference::default()).await.unwrap();
    assert_eq!(effective(of_task).await.0, Some(json!("project")));
    let by_admin = fixture.preferences.effective(admin, of_task, false).await.unwrap();
    assert_eq!((by_admin.sources, by_admin.effective.len()), (None, 1));
}

async fn a_stored_preference_of_a_wrong_type_is_reported_and_hides_nothing() {
    let fixture = Catalogue::new().await;
    fixture.set(&fixture.world.admin, &wanted(ScopeKind::System, None), json!("system")).await;
    let bob = fixture.bob().user;
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
    let put: Result<bool, cynode_store::Error> = fixture
        .world
        .store
        .write(move |tx| Box::pin(async move { tx.preference_insert(&odd).await }))
        .await;
    assert!(put.unwrap());

    let view = fixture
        .preferences
        .effective(fixture.bob(), PreferenceSubject::Caller, false)
        .await
        .unwrap();

    assert_eq!(view.effective["output.summary_style"], json!("system"));
    assert_eq!(view.skipped.len(), 1);
    assert_eq!(view.skipped[0].reason, "its value is not of type string");
}

async fn preferences_change_by_version_and_every_change_is_on_record() {
    let fixture = Catalogue::new().await;
    let (bob, own) = (fixture.bob(), wanted(ScopeKind::User, None));
    fixture.set(bob, &own, json!("concise")).await;

    let again = fixture.preferences.create(bob, own.clone(), written(json!("x"))).await;
    let stale = WritePreference { expected_version: Some(7), ..written(json!("x")) };
    let stale = fixture.preferences.update(bob, own.clone(), stale).await;
    let mistyped = fixture.preferences.update(bob, own.clone(), written(json!(7))).await;
    let reason = Some("too long".to_owned());
    let fresh = WritePreference { expected_version: Some(1), reason, ..written(json!("detailed")) };
    let fresh = fixture.preferences.update(bob, own.clone(), fresh).await.unwrap();
    let removed = RemovePreference { expected_version: Some(1), reason: None };
    let late = fixture.preferences.remove(bob, own.clone(), removed).await;

    assert!(matches!(again, Err(PreferenceError::Exists { found: 1, .. })));
    assert!(matches!(stale, Err(PreferenceError::Conflict { found: 1 })));
    assert!(matches!(mistyped, Err(PreferenceError::Invalid(_))));
    assert_eq!((fresh.version, fresh.updated_by), (2, Some(bob.user)));
    assert!(matches!(late, Err(PreferenceError::Conflict { found: 2 })));
    let scope = Scope::User(bob.user);
    let changes: Result<_, cynode_store::Error> = fixture
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
    let fixture = Catalogue::new().await;
    let (bob, eve) = (fixture.bob(), &fixture.eve);
    let of_bob = wanted(ScopeKind::User, Some(bob.user.into()));
    let of_task = wanted(ScopeKind::Task, Some(fixture.task.id.into()));
    let of_project = wanted(ScopeKind::Project, Some(fixture.task.project_id.into()));
    let of_group = wanted(ScopeKind::Group, Some(GroupId::generate().into()));

    let by_bob =
        fixture.preferences.create(bob, wanted(ScopeKind::System, None), written(json!("x")));
    let by_bob = by_bob.await;
    let of_group = fixture.preferences.create(bob, of_group, written(json!("x"))).await;
    let nameless = fixture.preferences.get(bob, wanted(ScopeKind::Task, None)).await;

    assert!(matches!(by_bob, Err(PreferenceError::Forbidden(_))));
    assert!(matches!(of_group, Err(PreferenceError::Forbidden(_))), "{of_group:?}");
    assert!(matches!(nameless, Err(PreferenceError::Scope(_))));
    for preference in [of_bob, of_task, of_project] {
        let (kind, id) = (preference.scope_type, preference.scope_id);
        fixture.set(bob, &preference, json!("mine")).await;
        let page = PageQuery::default();
        assert!(fixture.preferences.get(eve, preference.clone()).await.is_err(), "{kind}");
        assert!(fixture.preferences.list(eve, kind, id, "", &page).await.is_err(), "{kind}");
        assert!(
            fixture.preferences.update(eve, preference.clone(), written(json!("x"))).await.is_err()
        );
        let listed = fixture.preferences.list(bob, kind, id, "output.", &page).await.unwrap();
        assert_eq!(listed.items[0].value, json!("mine"));
    }
}

async fn what_a_key_cannot_be_is_refused_with_what_is_allowed() {
    let fixture = Catalogue::new().await;
    let budget = |key: &str| PreferenceKey { key: key.to_owned(), ..wanted(ScopeKind::User, None) };
    let set = |value| SetSetting { value, expected_version: None, reason: None };

    let preference = fixture
        .preferences
        .put(fixture.bob(), budget("budget.run_usd"), written(json!("abc")))
        .await;
    let dots = fixture.preferences.put(fixture.bob(), budget(".."), written(json!("abc"))).await;
    let admin = &fixture.world.admin;
    let setting = fixture.world.settings.set(admin, "budget.day_usd", set(json!("0 USD"))).await;
    let other = fixture.world.settings.set(admin, "models.hints.quick", set(json!("a/b"))).await;

    let allowed = "budget.run_usd must be a number of US dollars, 0 or more; got \"abc\"";
    assert_eq!(preference.unwrap_err().to_string(), allowed);
    assert!(dots.unwrap_err().to_string().starts_with("a key has"));
    assert!(matches!(setting, Err(SettingError::Invalid(why)) if why.contains("0 or more")));
    assert!(matches!(other, Err(SettingError::Invalid(why)) if why.contains("models.hints.fast")));
}
