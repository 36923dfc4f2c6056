//! Life cycle of credentials: disabling, enabling, expiry, history.

use std::time::Duration;

use chrono::TimeDelta;
use cynode_domain::ids::UserId;
use cynode_domain::model::{CredentialKind, ProviderKind};
use cynode_models::credentials::CredentialError;
use cynode_models::egress::EgressError;
use cynode_resources::Caller;
use cynode_runtime::clock::Clock as _;
use cynode_testkit::provider::ScriptedProvider;
use cynode_wire::credentials::{
    Expiry, GivenSecret, RotateCredential, SetCredential, UpdateCredential,
};
use cynode_wire::page::PageQuery;
use cynode_wire::providers::PutProvider;

use super::world::{World, asks, credential, hello, open};

fn turned(is_active: bool) -> UpdateCredential {
    UpdateCredential { is_active: Some(is_active), ..UpdateCredential::default() }
}

fn to(secret: &str, expires_at: Expiry) -> RotateCredential {
    RotateCredential { secret: GivenSecret(secret.to_owned()), expires_at }
}

pub(super) async fn a_disabled_credential_is_not_sent_until_it_is_enabled(world: World) {
    let provider = ScriptedProvider::saying("hi");
    world.provide("far", &provider).await;
    let own = world.credentials.set(&world.bob, credential("far", "own")).await.unwrap();
    let end = world.clock.now() + TimeDelta::days(1);
    let of_admin = UpdateCredential { is_active: None, expires_at: Expiry::At(end) };

    let disabled = world.credentials.update(&world.bob, own.id, turned(false)).await.unwrap();
    let refused = world.egress.chat(&asks(&world.bob), hello("far/m")).await;
    let rotated = world.credentials.rotate(&world.bob, own.id, to("new", Expiry::Kept)).await;
    let still = world.egress.chat(&asks(&world.bob), hello("far/m")).await;
    let ending = world.credentials.update(&world.admin, own.id, of_admin).await.unwrap();
    world.credentials.update(&world.bob, own.id, turned(true)).await.unwrap();
    world.egress.chat(&asks(&world.bob), hello("far/m")).await.unwrap();

    assert!(!disabled.is_active);
    assert!(!rotated.unwrap().is_active, "a new secret does not turn it on");
    for refused in [refused, still] {
        assert!(matches!(refused, Err(EgressError::NoCredential { .. })), "{refused:?}");
    }
    assert_eq!((ending.is_active, ending.expires_at), (false, Some(end)));
    assert_eq!(provider.requests()[0].header("authorization"), Some("Bearer new"));
    let shown = world.credentials.get(&world.bob, own.id).await.unwrap();
    assert_eq!((shown.is_active, shown.expires_at, shown.version), (true, Some(end), 5));
    let history = world.credentials.changes(&world.bob, own.id, &PageQuery::default()).await;
    let history = history.unwrap().items;
    let reported: Vec<_> = history.iter().map(|change| change.action.as_str()).collect();
    let expected = ["enable", "update", "rotate", "disable", "set"];
    assert_eq!(reported, expected.map(|verb| format!("credential.{verb}")));
    assert_eq!(history[1].changed_by, Some(world.admin.user));
}

pub(super) async fn a_rotation_keeps_the_end_unless_it_is_told_another(world: World) {
    let (now, bob) = (world.clock.now(), &world.bob);
    let (end, past) = (now + TimeDelta::days(1), now - TimeDelta::seconds(1));
    let ends = |end| SetCredential { expires_at: Some(end), ..credential("far", "first") };
    let too_late = world.credentials.set(bob, ends(past)).await;
    let set = world.credentials.set(bob, ends(end)).await.unwrap();
    let rotate = async |expiry| world.credentials.rotate(bob, set.id, to("next", expiry)).await;

    let kept = rotate(Expiry::Kept).await.unwrap();
    let later = rotate(Expiry::At(end + TimeDelta::days(1))).await.unwrap();
    let gone_by = rotate(Expiry::At(past)).await;
    let never = rotate(Expiry::Never).await.unwrap();
    rotate(Expiry::At(end)).await.unwrap();
    world.clock.advance(Duration::from_hours(25));
    let expired = rotate(Expiry::Kept).await;

    assert_eq!(kept.expires_at, Some(end));
    assert_eq!(later.expires_at, Some(end + TimeDelta::days(1)));
    assert_eq!(never.expires_at, None);
    for refused in [too_late, gone_by, expired] {
        let Err(CredentialError::Invalid(rule)) = refused else { panic!("{refused:?}") };
        assert!(rule.contains("expires_at must be in the future"), "{rule}");
    }
}

pub(super) async fn the_sort_of_a_credential_decides_in_which_header_it_goes(world: World) {
    let provider = ScriptedProvider::saying("hi");
    let (kind, base_url) = (ProviderKind::Anthropic, Some(provider.url()));
    world.provide_as("far", PutProvider { kind, base_url, ..open(&provider) }).await;
    for kind in [CredentialKind::ApiKey, CredentialKind::OauthToken, CredentialKind::BearerToken] {
        let credential_type = Some(kind);
        let set = SetCredential { credential_type, ..credential("far", "own") };
        let set = world.credentials.set(&world.bob, set).await.unwrap();
        world.egress.chat(&asks(&world.bob), hello("far/m")).await.unwrap();
        world.credentials.remove(&world.bob, set.id).await.unwrap();
    }

    let requests = provider.requests();
    let headers = |name: &str| requests.iter().map(|seen| seen.header(name)).collect::<Vec<_>>();
    assert_eq!(headers("x-api-key"), [Some("own"), None, None]);
    assert_eq!(headers("authorization"), [None, Some("Bearer own"), Some("Bearer own")]);
}

pub(super) async fn the_history_of_a_credential_is_for_its_owner_and_administrators(world: World) {
    let own = world.credentials.set(&world.bob, credential("far", "own")).await.unwrap();
    let page = PageQuery { limit: Some(1), cursor: None };
    let of = async |caller| world.credentials.changes(caller, own.id, &page).await;
    let eve = Caller::on_behalf_of(UserId::generate(), "eve".to_owned(), false);

    let of_eve = of(&eve).await;
    let first = of(&world.bob).await.unwrap();
    world.credentials.remove(&world.admin, own.id).await.unwrap();
    let of_admin = of(&world.admin).await.unwrap();
    let of_bob = of(&world.bob).await.unwrap();
    let after = of(&eve).await;

    for refused in [of_eve, after] {
        assert!(matches!(refused, Err(CredentialError::NotFound)), "{refused:?}");
    }
    assert_eq!(first.items[0].changed_by_handle.as_deref(), Some("bob"));
    assert_eq!(first.items[0].reason.as_deref(), Some("user default for far"));
    assert_eq!(of_admin.items[0].action, "credential.remove");
    assert!(of_admin.next_cursor.is_some());
    // For a removed credential, users see only their own changes.
    assert_eq!(of_bob.items[0].action, "credential.set");
}
