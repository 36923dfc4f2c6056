//! Groups of users: management, visibility, and what applies to members.

use cynode_domain::ids::{GroupId, RuleId};
use cynode_domain::policy::Effect;
use cynode_domain::policy::rules::{Conditions, RuleSubject};
use cynode_domain::preference::{ScopeKind, ValueType};
use cynode_resources::Caller;
use cynode_resources::preferences::{PreferenceError, PreferenceSubject};
use cynode_resources::rules::RuleError;
use cynode_resources::{groups::GroupError, groups::Groups};
use cynode_wire::agents::{BindingView, IssueAgentToken};
use cynode_wire::groups::CreateGroup;
use cynode_wire::page::PageQuery;
use cynode_wire::preferences::{PreferenceKey, WritePreference};
use cynode_wire::rules::CreateRule;
use serde_json::{Value, json};

use crate::catalogue::Catalogue;
use crate::engines::on_each_engine;

on_each_engine! {
    groups_are_managed_by_administrators_and_seen_by_their_members,
    a_later_group_wins_over_an_earlier_one_both_over_the_system_and_the_user_over_all,
    a_groups_preferences_are_read_by_its_members_and_written_by_administrators,
    an_identity_has_the_groups_that_its_user_is_in_at_that_moment,
    a_removed_group_takes_its_preferences_and_rules_with_it,
    a_rule_about_a_group_that_does_not_exist_is_refused,
}

const KEY: &str = "agents.project_manager.additional_context";

fn groups(fixture: &Catalogue) -> Groups {
    Groups::new(fixture.world.store.clone(), fixture.world.clock.clone(), fixture.world.signals())
}

async fn made(fixture: &Catalogue, name: &str) -> GroupId {
    let request = CreateGroup { name: name.to_owned(), display_name: None };
    groups(fixture).create(&fixture.world.admin, request).await.unwrap().id
}

async fn set(fixture: &Catalogue, (kind, id): (ScopeKind, Option<GroupId>), value: &str) {
    let preference = preference_key(kind, id);
    fixture.preferences.put(&fixture.world.admin, preference, written(value)).await.unwrap();
}

fn preference_key(kind: ScopeKind, id: Option<GroupId>) -> PreferenceKey {
    PreferenceKey { scope_type: kind, scope_id: id.map(Into::into), key: KEY.to_owned() }
}

fn written(value: &str) -> WritePreference {
    WritePreference {
        value: json!(value),
        value_type: ValueType::String,
        expected_version: None,
        reason: None,
    }
}

/// The effective preference of a subject and its source.
async fn holds(
    fixture: &Catalogue,
    caller: &Caller,
    about: PreferenceSubject,
) -> (Value, ScopeKind) {
    let view = fixture.preferences.effective(caller, about, true).await.unwrap();
    (view.effective[KEY].clone(), view.sources.unwrap()[KEY].scope_type)
}

async fn groups_are_managed_by_administrators_and_seen_by_their_members() {
    let fixture = Catalogue::new().await;
    let (groups, admin, bob) = (groups(&fixture), &fixture.world.admin, fixture.bob());
    let new = |name: &str| CreateGroup { name: name.to_owned(), display_name: None };
    let writers = made(&fixture, "writers").await;
    made(&fixture, "readers").await;
    let page = PageQuery::default();
    let names = async |caller: &Caller| -> Vec<(String, bool)> {
        let found = groups.list(caller, &page).await.unwrap().items;
        found.into_iter().map(|group| (group.name, group.is_member)).collect()
    };

    assert!(matches!(groups.create(bob, new("x")).await, Err(GroupError::NotAdmin)));
    assert!(matches!(groups.create(admin, new("writers")).await, Err(GroupError::Exists(_))));
    for odd in ["Writers", "", "a b", &writers.to_string()] {
        let refused = groups.create(admin, new(odd)).await;
        assert!(matches!(refused, Err(GroupError::Invalid(_))), "{odd}");
    }
    assert_eq!(names(bob).await, []);
    assert!(matches!(groups.get(bob, &"writers".into()).await, Err(GroupError::NotFound(_))));
    assert!(matches!(
        groups.members(bob, &"writers".into(), &page).await,
        Err(GroupError::NotFound(_))
    ));
    assert!(matches!(
        groups.add(bob, &"writers".into(), &"bob".into()).await,
        Err(GroupError::NotAdmin)
    ));

    groups.add(admin, &"writers".into(), &"bob".into()).await.unwrap();
    groups.add(admin, &writers.into(), &bob.user.into()).await.unwrap();

    assert_eq!(names(bob).await, [("writers".to_owned(), true)]);
    let all = [("readers".to_owned(), false), ("writers".to_owned(), false)];
    assert_eq!(names(admin).await, all);
    let members = groups.members(bob, &"writers".into(), &page).await.unwrap().items;
    assert_eq!((members.len(), &*members[0].handle), (1, "bob"));
    let nobody = groups.add(admin, &"writers".into(), &"nobody".into()).await;
    assert!(matches!(nobody, Err(GroupError::NoUser(_))));
    assert!(matches!(
        groups.expel(bob, &"writers".into(), &"bob".into()).await,
        Err(GroupError::NotAdmin)
    ));
    groups.expel(admin, &"writers".into(), &"bob".into()).await.unwrap();
    let again = groups.expel(admin, &"writers".into(), &"bob".into()).await;
    assert!(matches!(again, Err(GroupError::NotMember { .. })));
    assert_eq!(names(bob).await, []);
}

async fn a_later_group_wins_over_an_earlier_one_both_over_the_system_and_the_user_over_all() {
    let fixture = Catalogue::new().await;
    let (groups, admin, bob) = (groups(&fixture), &fixture.world.admin, fixture.bob());
    let (first, second) = (made(&fixture, "zebra").await, made(&fixture, "ant").await);
    assert!(first < second);
    set(&fixture, (ScopeKind::System, None), "system's").await;
    set(&fixture, (ScopeKind::Group, Some(second)), "second's").await;
    set(&fixture, (ScopeKind::Group, Some(first)), "first's").await;
    for name in ["ant", "zebra"] {
        groups.add(admin, &name.into(), &"bob".into()).await.unwrap();
    }
    let (task, project) = (
        PreferenceSubject::Task(fixture.task.id),
        PreferenceSubject::Project(fixture.task.project_id),
    );

    for about in [task, project, PreferenceSubject::Caller] {
        assert_eq!(holds(&fixture, bob, about).await, (json!("second's"), ScopeKind::Group));
    }
    let of_eve = holds(&fixture, &fixture.eve, PreferenceSubject::Caller).await;
    assert_eq!(of_eve, (json!("system's"), ScopeKind::System));
    // The preferences of a task are those of its user, independent of the caller.
    assert_eq!(holds(&fixture, admin, task).await, (json!("second's"), ScopeKind::Group));

    groups.expel(admin, &"ant".into(), &"bob".into()).await.unwrap();
    assert_eq!(holds(&fixture, bob, task).await, (json!("first's"), ScopeKind::Group));
    fixture
        .preferences
        .put(bob, preference_key(ScopeKind::User, None), written("bob's"))
        .await
        .unwrap();
    assert_eq!(holds(&fixture, bob, task).await, (json!("bob's"), ScopeKind::User));
}

async fn a_groups_preferences_are_read_by_its_members_and_written_by_administrators() {
    let fixture = Catalogue::new().await;
    let (groups, admin, bob) = (groups(&fixture), &fixture.world.admin, fixture.bob());
    let group = made(&fixture, "writers").await;
    let preference = preference_key(ScopeKind::Group, Some(group));
    let forbidden = |outcome: Result<_, PreferenceError>| {
        assert!(matches!(outcome, Err(PreferenceError::Forbidden(_))), "{outcome:?}");
    };

    set(&fixture, (ScopeKind::Group, Some(group)), "ours").await;
    forbidden(fixture.preferences.get(bob, preference.clone()).await);
    groups.add(admin, &"writers".into(), &"bob".into()).await.unwrap();

    assert_eq!(
        fixture.preferences.get(bob, preference.clone()).await.unwrap().value,
        json!("ours")
    );
    forbidden(fixture.preferences.put(bob, preference, written("mine")).await);
    let unknown = preference_key(ScopeKind::Group, Some(GroupId::generate()));
    forbidden(fixture.preferences.put(admin, unknown, written("x")).await);
}

async fn an_identity_has_the_groups_that_its_user_is_in_at_that_moment() {
    let fixture = Catalogue::new().await;
    let (groups, admin, bob) = (groups(&fixture), &fixture.world.admin, fixture.bob());
    let (first, second) = (made(&fixture, "b").await, made(&fixture, "a").await);
    let request = IssueAgentToken {
        agent_type: "pm".parse().unwrap(),
        name: "test".to_owned(),
        user_id: Some(bob.user),
        expires_in_seconds: None,
        binding: BindingView::default(),
    };
    let token = fixture.world.agents.issue(admin, request).await.unwrap().secret;
    let found = async || fixture.world.agents.authenticate(&token).await.unwrap().groups;
    let revision = async || fixture.world.registry.revision().await.unwrap();

    assert_eq!(found().await, []);
    let before = revision().await;
    groups.add(admin, &"a".into(), &"bob".into()).await.unwrap();
    groups.add(admin, &"b".into(), &"bob".into()).await.unwrap();
    assert_eq!(found().await, [first, second]);
    assert_eq!(groups.load_group_ids(bob.user).await.unwrap(), [first, second]);
    assert_eq!(revision().await, before + 2, "cached identities are invalidated");
    groups.expel(admin, &"b".into(), &"bob".into()).await.unwrap();
    assert_eq!(found().await, [second]);
    assert_eq!(revision().await, before + 3);
}

fn rule(group: GroupId) -> CreateRule {
    CreateRule {
        subject: RuleSubject::Group(group),
        action: None,
        resource_type: None,
        resource_pattern: "web.*".parse().unwrap(),
        server: None,
        effect: Effect::Allow,
        priority: 0,
        conditions: Conditions::default(),
    }
}

async fn a_removed_group_takes_its_preferences_and_rules_with_it() {
    let fixture = Catalogue::new().await;
    let (groups, admin, bob) = (groups(&fixture), &fixture.world.admin, fixture.bob());
    let (gone, stays) = (made(&fixture, "gone").await, made(&fixture, "stays").await);
    for (name, group) in [("gone", gone), ("stays", stays)] {
        groups.add(admin, &name.into(), &"bob".into()).await.unwrap();
        set(&fixture, (ScopeKind::Group, Some(group)), name).await;
    }
    let about_gone = fixture.world.rules.create(admin, rule(gone)).await.unwrap().id;
    let about_stays = fixture.world.rules.create(admin, rule(stays)).await.unwrap().id;
    assert!(matches!(groups.remove(bob, &"gone".into()).await, Err(GroupError::NotAdmin)));

    groups.remove(admin, &"gone".into()).await.unwrap();

    assert!(matches!(groups.remove(admin, &"gone".into()).await, Err(GroupError::NotFound(_))));
    assert_eq!(groups.load_group_ids(bob.user).await.unwrap(), [stays]);
    let rules = fixture.world.rules.list(admin).await.unwrap();
    let rules: Vec<RuleId> = rules.into_iter().map(|rule| rule.id).collect();
    assert!(rules.contains(&about_stays) && !rules.contains(&about_gone));
    // The name is free, and nothing of the old group is the new one's.
    let anew = made(&fixture, "gone").await;
    groups.add(admin, &"gone".into(), &"bob".into()).await.unwrap();
    let of_new = fixture.preferences.get(admin, preference_key(ScopeKind::Group, Some(anew))).await;
    assert!(matches!(of_new, Err(PreferenceError::NotFound { .. })));
    assert_eq!(holds(&fixture, bob, PreferenceSubject::Caller).await.0, json!("stays"));
}

async fn a_rule_about_a_group_that_does_not_exist_is_refused() {
    let fixture = Catalogue::new().await;
    let refused = fixture.world.rules.create(&fixture.world.admin, rule(GroupId::generate())).await;

    assert!(matches!(refused, Err(RuleError::NoGroup)), "{refused:?}");
}
