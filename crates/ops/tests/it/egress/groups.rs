//! What the members of a group may use, and with which credential.

use cynode_domain::ids::GroupId;
use cynode_domain::model::CredentialOwner;
use cynode_domain::policy::Effect;
use cynode_domain::policy::rules::{Conditions, RuleSubject};
use cynode_models::credentials::CredentialError;
use cynode_models::{egress::EgressError, egress::Inference};
use cynode_resources::groups::Groups;
use cynode_testkit::provider::ScriptedProvider;
use cynode_wire::credentials::SetCredential;
use cynode_wire::groups::CreateGroup;
use cynode_wire::providers::PutProvider;
use cynode_wire::rules::CreateRule;

use super::world::{World, asks, credential, hello, open};

async fn group(world: &World, name: &str) -> (Groups, GroupId) {
    let signals = world.signals.clone();
    let groups = Groups::new(world.store.clone(), world.clock.clone(), signals);
    let new = CreateGroup { name: name.to_owned(), display_name: None };
    let id = groups.create(&world.admin, new).await.unwrap().id;
    (groups, id)
}

pub(super) async fn a_groups_rule_and_credential_count_while_the_user_is_in_it(world: World) {
    let provider = ScriptedProvider::saying("hi");
    world.provide_as("far", PutProvider { allow: None, ..open(&provider) }).await;
    let (groups, id) = group(&world, "writers").await;
    let rule = CreateRule {
        subject: RuleSubject::Group(id),
        action: Some("api.call".parse().unwrap()),
        resource_type: Some("api.provider_operation".parse().unwrap()),
        resource_pattern: "far/*".parse().unwrap(),
        server: None,
        effect: Effect::Allow,
        priority: 0,
        conditions: Conditions::default(),
    };
    world.rules.create(&world.admin, rule).await.unwrap();
    world.set("far", "installation-key").await;
    let of_group = SetCredential {
        owner_type: Some(CredentialOwner::Group),
        owner_id: Some(id.as_uuid()),
        ..credential("far", "group-key")
    };
    world.credentials.set(&world.admin, of_group).await.unwrap();
    let ask = async |asks: Inference| world.egress.chat(&asks, hello("far/m")).await;

    assert!(matches!(ask(asks(&world.bob)).await, Err(EgressError::Denied(_))));
    groups.add(&world.admin, &"writers".into(), &"bob".into()).await.unwrap();
    ask(asks(&world.bob)).await.unwrap();
    let agent = world.agent("pm", &world.bob).await;
    ask(Inference::of_agent(&agent, "chat", "t")).await.unwrap();
    for seen in provider.requests() {
        assert_eq!(seen.header("authorization"), Some("Bearer group-key"));
    }
    groups.expel(&world.admin, &"writers".into(), &"bob".into()).await.unwrap();
    for asks in [asks(&world.bob), Inference::of_agent(&agent, "chat", "t")] {
        assert!(matches!(ask(asks).await, Err(EgressError::Denied(_))));
    }
    assert_eq!(provider.requests().len(), 2);

    groups.remove(&world.admin, &"writers".into()).await.unwrap();
    let left = world.credentials.list(&world.admin).await.unwrap();
    assert!(left.iter().all(|row| row.owner_type == CredentialOwner::System), "{left:?}");
}

pub(super) async fn a_credential_is_set_for_a_group_that_exists_and_by_administrators(
    world: World,
) {
    let (groups, id) = group(&world, "writers").await;
    groups.add(&world.admin, &"writers".into(), &"bob".into()).await.unwrap();
    let of = |id: GroupId| SetCredential {
        owner_type: Some(CredentialOwner::Group),
        owner_id: Some(id.as_uuid()),
        ..credential("far", "key")
    };

    let by_member = world.credentials.set(&world.bob, of(id)).await;
    let of_nobody = world.credentials.set(&world.admin, of(GroupId::generate())).await;

    assert!(matches!(by_member, Err(CredentialError::Forbidden(_))), "{by_member:?}");
    assert!(matches!(of_nobody, Err(CredentialError::Invalid(_))), "{of_nobody:?}");
}
