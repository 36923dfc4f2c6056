//! Groups of users over HTTP, and the access they grant and deny.

use cynode_domain::ids::GroupId;
use cynode_domain::policy::rules::{Conditions, RuleSubject};
use cynode_domain::policy::{AgentType, Effect};
use cynode_domain::preference::ScopeKind;
use cynode_wire::audit::AuditQuery;
use cynode_wire::groups::CreateGroup;
use cynode_wire::page::PageQuery;
use cynode_wire::preferences::{EffectiveQuery, PreferenceScope, PutPreference};
use cynode_wire::rules::CreateRule;
use reqwest::Method;
use serde_json::json;

use crate::harness::{HarnessResponse, OrchestratorHarness, eventually, refused};
use crate::mcp::Mcp;

const KEY: &str = "agents.project_manager.additional_context";

fn new(name: &str) -> CreateGroup {
    CreateGroup { name: name.to_owned(), display_name: None }
}

pub(crate) async fn groups_are_made_filled_emptied_and_removed_by_administrators(
    harness: OrchestratorHarness,
) {
    let (admin, bob) = (harness.admin(), harness.user("bob").await);
    let eve = harness.user("eve").await;
    let page = PageQuery::default();

    let writers = admin.group_create(&new("writers")).await.unwrap();
    refused(admin.group_create(&new("writers")).await, 409);
    refused(admin.group_create(&new("Not Plain")).await, 400);
    refused(bob.group_create(&new("own")).await, 403);
    refused(bob.member_add("writers", "bob").await, 403);
    refused(admin.member_add("writers", "nobody").await, 404);
    refused(admin.member_add("nothing", "bob").await, 404);
    let added = admin.member_add("writers", "bob").await.unwrap();

    assert_eq!(added.handle, "bob");
    let own = bob.group_list(&page).await.unwrap().items;
    assert_eq!((own.len(), own[0].id, own[0].is_member), (1, writers.id, true));
    assert_eq!(bob.group_get("writers").await.unwrap().id, writers.id);
    assert_eq!(bob.member_list("writers", &page).await.unwrap().items[0].handle, "bob");
    assert_eq!(eve.group_list(&page).await.unwrap().items, []);
    refused(eve.group_get(&writers.id.to_string()).await, 404);
    refused(eve.member_list("writers", &page).await, 404);
    refused(bob.member_remove("writers", "bob").await, 403);
    refused(bob.group_remove("writers").await, 403);
    admin.member_remove("writers", "bob").await.unwrap();
    refused(admin.member_remove("writers", "bob").await, 404);
    refused(bob.group_get("writers").await, 404);
    admin.group_remove("writers").await.unwrap();
    refused(admin.group_get("writers").await, 404);
    let unknown = json!({ "name": "x", "colour": "red" });
    let unknown =
        HarnessResponse::send(harness.as_admin(Method::POST, "/v1/groups").json(&unknown)).await;
    assert!(unknown.assert_problem(400).contains("colour"));
}

pub(crate) async fn a_groups_preference_reaches_its_members_and_nobody_else(
    harness: OrchestratorHarness,
) {
    let (admin, bob) = (harness.admin(), harness.user("bob").await);
    let eve = harness.user("eve").await;
    let group = admin.group_create(&new("writers")).await.unwrap().id;
    let put = |scope_type, scope_id, value: &str| PutPreference {
        scope_type: Some(scope_type),
        scope_id,
        value: json!(value),
        value_type: None,
        expected_version: None,
        reason: None,
    };
    let of_group = put(ScopeKind::Group, Some(group.as_uuid()), "Write short sentences.");
    admin.preference_put(KEY, &put(ScopeKind::System, None, "Be kind.")).await.unwrap();
    admin.preference_put(KEY, &of_group).await.unwrap();
    refused(bob.preference_put(KEY, &of_group).await, 403);
    admin.member_add("writers", "bob").await.unwrap();
    refused(bob.preference_put(KEY, &of_group).await, 403);

    let of_bob = bob.preference_effective(&EffectiveQuery::default()).await.unwrap();
    let of_eve = eve.preference_effective(&EffectiveQuery::default()).await.unwrap();

    assert_eq!(of_bob.effective[KEY], "Write short sentences.");
    let source = &of_bob.sources.unwrap()[KEY];
    assert_eq!((source.scope_type, source.scope_id), (ScopeKind::Group, Some(group.as_uuid())));
    assert_eq!(of_eve.effective[KEY], "Be kind.");
    let scope =
        PreferenceScope { scope_type: Some(ScopeKind::Group), scope_id: Some(group.as_uuid()) };
    assert_eq!(bob.preference_get(KEY, &scope).await.unwrap().version, 1);
    refused(eve.preference_get(KEY, &scope).await, 403);
}

pub(crate) async fn a_rule_about_a_group_holds_for_agents_of_whoever_is_in_it(
    harness: OrchestratorHarness,
) {
    let (admin, pm) = (harness.admin(), Mcp::agent(&harness, AgentType::Pm).await);
    let group = admin.group_create(&new("watched")).await.unwrap().id;
    let rule = |group| CreateRule {
        subject: RuleSubject::Group(group),
        action: None,
        resource_type: None,
        resource_pattern: "skills.*".parse().unwrap(),
        server: None,
        effect: Effect::Deny,
        priority: 0,
        conditions: Conditions::default(),
    };
    refused(admin.rule_create(&rule(GroupId::generate())).await, 400);
    admin.rule_create(&rule(group)).await.unwrap();
    let is_listed = async || {
        let answer = pm.answer("skills.list", json!({})).await;
        answer["result"]["structuredContent"]["items"].is_array()
    };

    assert!(is_listed().await, "nobody is in the group");
    admin.member_add("watched", "admin").await.unwrap();
    eventually("the rule holds", async || (!is_listed().await).then_some(())).await;
    let query = AuditQuery { decision: Some(Effect::Deny), ..AuditQuery::default() };
    let refusals = admin.call_list(&query).await.unwrap().items;
    assert_eq!(refusals[0].group_ids, [group], "on record with the groups of then");
    admin.member_remove("watched", "admin").await.unwrap();
    eventually("the rule holds no more", async || is_listed().await.then_some(())).await;
}
