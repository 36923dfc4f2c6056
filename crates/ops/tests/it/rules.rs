//! Rules and settings.

use cynode_domain::policy::allowlist::is_allowlisted;
use cynode_domain::policy::rules::{Access, Conditions, INVOKE, RuleSubject, TOOL, evaluate};
use cynode_domain::policy::{Effect, Principal};
use cynode_resources::rules::RuleError;
use cynode_resources::settings::SettingError;
use cynode_wire::page::PageQuery;
use cynode_wire::rules::CreateRule;
use cynode_wire::settings::SetSetting;
use serde_json::json;

use crate::engines::on_each_engine;
use crate::world::World;

on_each_engine! {
    a_new_installation_allows_each_role_what_stays_inside,
    rules_of_a_new_installation_are_written_once,
    a_rule_works_from_the_moment_it_is_written_until_it_is_removed,
    only_administrators_see_and_write_rules,
    a_setting_is_written_by_administrators_and_read_by_all,
}

async fn may(world: &World, caller: Principal, tool: &str) -> bool {
    let rules = world.registry.load().await.unwrap().rules;
    let access = Access {
        caller,
        user: Some(world.bob.user),
        groups: &[],
        project: None,
        task: None,
        action: INVOKE,
        resource_type: TOOL,
        resource: tool,
        server: None,
    };
    evaluate(&rules, &access).is_allowed()
}

pub(crate) fn rule(effect: Effect, tools: &str) -> CreateRule {
    CreateRule {
        subject: RuleSubject::System,
        action: None,
        resource_type: None,
        resource_pattern: tools.parse().unwrap(),
        server: None,
        effect,
        priority: 0,
        conditions: Conditions::default(),
    }
}

async fn a_new_installation_allows_each_role_what_stays_inside() {
    let world = World::new().await;
    assert!(!may(&world, Principal::PM, "db.task.get").await, "nothing before the first start");

    world.sync(&[]).await;

    for (caller, tool, expected) in [
        (Principal::PM, "db.task.get", true),
        (Principal::PM, "web.fetch", false),
        (Principal::PA, "db.task.get", true),
        (Principal::PA, "db.task.create", false),
        (Principal::SANDBOX, "artifact.put", true),
        (Principal::SANDBOX, "db.task.get", false),
        (Principal::User, "db.task.get", true),
        (Principal::User, "memory.add", false),
    ] {
        assert_eq!(may(&world, caller, tool).await, expected, "{caller} {tool}");
        assert!(!expected || is_allowlisted(caller, tool));
    }
}

async fn rules_of_a_new_installation_are_written_once() {
    let world = World::new().await;
    world.sync(&[]).await;
    let rules = world.rules.list(&world.admin).await.unwrap();
    for rule in &rules {
        world.rules.remove(&world.admin, rule.id).await.unwrap();
    }

    world.sync(&[]).await;

    assert!(!rules.is_empty());
    assert!(world.rules.list(&world.admin).await.unwrap().is_empty());
}

async fn a_rule_works_from_the_moment_it_is_written_until_it_is_removed() {
    let world = World::new().await;
    world.sync(&[]).await;
    let revision = world.registry.revision().await.unwrap();

    let made = world.rules.create(&world.admin, rule(Effect::Deny, "db.*")).await.unwrap();

    assert!(!may(&world, Principal::PM, "db.task.get").await);
    assert!(world.registry.revision().await.unwrap() > revision);
    world.rules.remove(&world.admin, made.id).await.unwrap();
    assert!(may(&world, Principal::PM, "db.task.get").await);
    let again = world.rules.remove(&world.admin, made.id).await;
    assert!(matches!(again, Err(RuleError::NotFound)));
}

async fn only_administrators_see_and_write_rules() {
    let world = World::new().await;

    let refused = world.rules.create(&world.bob, rule(Effect::Allow, "*")).await;

    assert!(matches!(refused, Err(RuleError::NotAdmin)));
    assert!(matches!(world.rules.list(&world.bob).await, Err(RuleError::NotAdmin)));
}

async fn a_setting_is_written_by_administrators_and_read_by_all() {
    let world = World::new().await;
    let body = |value, expected_version| SetSetting { value, expected_version, reason: None };
    let refused = world.settings.set(&world.bob, "a.b", body(json!(true), None)).await;
    assert!(matches!(refused, Err(SettingError::NotAdmin)));

    let first = world.settings.set(&world.admin, "a.b", body(json!(1), Some(0))).await.unwrap();
    let stale = world.settings.set(&world.admin, "a.b", body(json!(2), Some(0))).await;
    let second = world.settings.set(&world.admin, "a.b", body(json!(2), None)).await.unwrap();

    assert!(matches!(stale, Err(SettingError::Conflict { found: 1 })));
    assert_eq!((first.version, second.version), (1, 2));
    assert_eq!(world.settings.get("a.b").await.unwrap().value, second.value);
    assert!(matches!(world.settings.get("a").await, Err(SettingError::NotFound(_))));
    let page = world.settings.list("", &PageQuery::default()).await.unwrap();
    assert_eq!(page.items.len(), 1);
    assert_eq!(world.registry.load().await.unwrap().settings["a.b"], json!(2));
    world.settings.remove(&world.admin, "a.b", None).await.unwrap();
    assert!(world.settings.get("a.b").await.is_err());
}
