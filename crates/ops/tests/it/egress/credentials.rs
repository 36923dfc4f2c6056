//! Secrets: sealed, used, rotated, and never shown.

use std::fs;

use cynode_domain::model::{CredentialOwner, InferenceOutcome};
use cynode_models::egress::EgressError;
use cynode_models::{credentials::CredentialError, credentials::CredentialManager};
use cynode_testkit::provider::{Answer, ScriptedProvider};
use cynode_wire::credentials::{Expiry, GivenSecret, RotateCredential, SetCredential};

use super::world::{World, asks, credential, hello};

const SECRET: &str = "xyzzy-plugh-4711-open-sesame";

pub(super) async fn a_secret_is_nowhere_in_the_database_nor_in_anything_shown(world: World) {
    let provider = ScriptedProvider::start();
    // A provider that repeats what it was sent, as some do.
    provider.script([Answer::text("hi"), Answer::unauthorized(SECRET)]);
    world.provide("far", &provider).await;
    let set = world.set("far", SECRET).await;

    world.egress.chat(&asks(&world.bob), hello("far/m")).await.unwrap();
    let refused = world.egress.chat(&asks(&world.bob), hello("far/m")).await.unwrap_err();

    assert!(provider.has_received(SECRET));
    let listed = world.credentials.list(&world.admin).await.unwrap();
    let request = credential("far", SECRET);
    for shown in [
        format!("{set:?}"),
        serde_json::to_string(&listed).unwrap(),
        refused.to_string(),
        format!("{request:?}"),
        format!("{:?}", world.calls().await),
    ] {
        assert!(!shown.contains(SECRET), "{shown}");
    }
    assert_eq!(world.database.tables_containing(SECRET).await, Vec::<String>::new());
    // The search does find something that is stored.
    assert!(!world.database.tables_containing("credential.set").await.is_empty());
    let key = fs::read_to_string(world.key_file()).unwrap();
    let key = key.split_whitespace().nth(1).unwrap();
    assert_eq!(world.database.tables_containing(key).await, Vec::<String>::new());
}

pub(super) async fn users_manage_their_own_credentials_and_administrators_all(world: World) {
    let own = world.credentials.set(&world.bob, credential("far", "own")).await.unwrap();
    let of_system = world.set("far", "system").await;
    let names = |caller| {
        let credentials = world.credentials.clone();
        async move {
            let listed = credentials.list(caller).await.unwrap();
            listed.into_iter().map(|view| view.id).collect::<Vec<_>>()
        }
    };

    assert_eq!(names(&world.bob).await, [own.id]);
    assert_eq!(names(&world.admin).await.len(), 2);
    let again = world.credentials.set(&world.bob, credential("far", "other")).await;
    assert!(matches!(again, Err(CredentialError::Exists { .. })), "{again:?}");
    let system = Some(CredentialOwner::System);
    let theirs = SetCredential { owner_type: system, ..credential("far", "mine") };
    let refused = world.credentials.set(&world.bob, theirs).await;
    assert!(matches!(refused, Err(CredentialError::Forbidden(_))), "{refused:?}");
    let removed = world.credentials.remove(&world.bob, of_system.id).await;
    assert!(matches!(removed, Err(CredentialError::NotFound)), "{removed:?}");
    for unfit in ["", "  ", "two words", "line\nbreak"] {
        let refused = world.credentials.set(&world.bob, credential("near", unfit)).await;
        assert!(matches!(refused, Err(CredentialError::Invalid(_))), "{refused:?}");
    }
    world.credentials.remove(&world.bob, own.id).await.unwrap();
    assert!(names(&world.bob).await.is_empty());
}

fn to(secret: &str) -> RotateCredential {
    RotateCredential { secret: GivenSecret(secret.to_owned()), expires_at: Expiry::Kept }
}

pub(super) async fn a_rotated_credential_is_used_from_the_next_call_on(world: World) {
    let provider = ScriptedProvider::saying("hi");
    world.provide("far", &provider).await;
    let set = world.set("far", "first").await;
    world.egress.chat(&asks(&world.bob), hello("far/m")).await.unwrap();

    let rotated = world.credentials.rotate(&world.admin, set.id, to("second")).await.unwrap();

    assert_eq!(rotated.version, 2);
    world.egress.chat(&asks(&world.bob), hello("far/m")).await.unwrap();
    let headers: Vec<_> = provider
        .requests()
        .iter()
        .map(|seen| seen.header("authorization").unwrap_or_default().to_owned())
        .collect();
    assert_eq!(headers, ["Bearer first", "Bearer second"]);
    world.credentials.remove(&world.admin, set.id).await.unwrap();
    let refused = world.egress.chat(&asks(&world.bob), hello("far/m")).await;
    assert!(matches!(refused, Err(EgressError::NoCredential { .. })), "{refused:?}");
}

pub(super) async fn an_expired_credential_is_not_sent(world: World) {
    use cynode_runtime::clock::Clock as _;
    let provider = ScriptedProvider::saying("hi");
    world.provide("far", &provider).await;
    let end = world.clock.now() + chrono::TimeDelta::seconds(10);
    let request = SetCredential { expires_at: Some(end), ..credential("far", "own") };
    world.credentials.set(&world.bob, request).await.unwrap();
    world.egress.chat(&asks(&world.bob), hello("far/m")).await.unwrap();
    world.clock.advance(std::time::Duration::from_secs(10));

    let refused = world.egress.chat(&asks(&world.bob), hello("far/m")).await;

    assert!(matches!(refused, Err(EgressError::NoCredential { .. })), "{refused:?}");
    assert_eq!(provider.requests().len(), 1);
    assert_eq!(world.calls().await[1].outcome, InferenceOutcome::Failed);
}

pub(super) async fn a_new_key_reseals_every_credential_and_the_old_one_opens_none(world: World) {
    let provider = ScriptedProvider::saying("hi");
    world.provide("far", &provider).await;
    let before = world.set("far", SECRET).await;
    world.credentials.set(&world.bob, credential("near", "own")).await.unwrap();
    let old_file = fs::read(world.key_file()).unwrap();
    let refused = world.credentials.rotate_key(&world.bob).await;
    assert!(matches!(refused, Err(CredentialError::Forbidden(_))));

    let rotated = world.credentials.rotate_key(&world.admin).await.unwrap();

    assert_eq!(rotated.credentials, 2);
    assert_ne!(rotated.key_id, before.key_id);
    let listed = world.credentials.list(&world.admin).await.unwrap();
    assert!(listed.iter().all(|view| view.key_id == rotated.key_id), "{listed:?}");
    // The previous key is dropped at the next rotation.
    assert_eq!(fs::read_to_string(world.key_file()).unwrap().lines().count(), 2);
    world.egress.chat(&asks(&world.bob), hello("far/m")).await.unwrap();
    assert!(provider.has_received(SECRET));
    // A process with only the old file decrypts nothing, and names the missing key.
    fs::write(world.key_file(), old_file).unwrap();
    let other = world.other_process();
    let refused = other.chat(&asks(&world.bob), hello("far/m")).await.unwrap_err().to_string();
    assert!(refused.contains(&rotated.key_id) && refused.contains("credentials.key"), "{refused}");
}

pub(super) async fn an_interrupted_change_of_the_key_loses_nothing(world: World) {
    let provider = ScriptedProvider::saying("hi");
    world.provide("far", &provider).await;
    world.set("far", SECRET).await;
    // As after a crash between the new file and the new rows: both keys are in the file.
    let old = fs::read_to_string(world.key_file()).unwrap();
    let fresh = "0123456789ab MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
    fs::write(world.key_file(), format!("{fresh}\n{old}")).unwrap();
    let other = world.other_process();

    other.chat(&asks(&world.bob), hello("far/m")).await.unwrap();
    let rotated = world.credentials.rotate_key(&world.admin).await.unwrap();

    assert_eq!(rotated.credentials, 1);
    let file = fs::read_to_string(world.key_file()).unwrap();
    assert!(file.starts_with(&rotated.key_id) && file.lines().count() == 3, "{}", file.len());
    let rotated = world.credentials.rotate_key(&world.admin).await.unwrap();
    let file = fs::read_to_string(world.key_file()).unwrap();
    assert!(file.starts_with(&rotated.key_id) && file.lines().count() == 2, "{}", file.len());
    other.chat(&asks(&world.bob), hello("far/m")).await.unwrap();
}

pub(super) async fn what_another_process_was_sealing_while_the_key_changed_still_opens(
    world: World,
) {
    let provider = ScriptedProvider::saying("hi");
    world.provide("far", &provider).await;
    let set = world.set("far", SECRET).await;
    let sealed = world.row(set.id).await;
    world.credentials.remove(&world.admin, set.id).await.unwrap();

    let first = world.credentials.rotate_key(&world.admin).await.unwrap();
    // The other process had sealed it before, and writes it now.
    world.insert(sealed).await;
    world.egress.chat(&asks(&world.bob), hello("far/m")).await.unwrap();
    let second = world.credentials.rotate_key(&world.admin).await.unwrap();

    assert_eq!((first.credentials, second.credentials), (0, 1));
    world.egress.chat(&asks(&world.bob), hello("far/m")).await.unwrap();
    assert!(provider.has_received(SECRET));
}

pub(super) async fn a_missing_key_file_is_refused_loudly_and_nothing_is_lost(world: World) {
    let provider = ScriptedProvider::saying("hi");
    world.provide("far", &provider).await;
    world.set("far", SECRET).await;
    let kept = world.data.path().join("elsewhere");
    fs::rename(world.key_file(), &kept).unwrap();
    let other = world.other_process();

    let call = other.chat(&asks(&world.bob), hello("far/m")).await.unwrap_err().to_string();
    let set = world.credentials.set(&world.bob, credential("far", "own")).await;
    let rotated = world.credentials.rotate_key(&world.admin).await;

    for said in [call, set.unwrap_err().to_string(), rotated.unwrap_err().to_string()] {
        assert!(said.contains("credentials.key") && said.contains("put it back"), "{said}");
    }
    assert!(!world.key_file().exists());
    assert_eq!(provider.requests().len(), 0);
    fs::rename(kept, world.key_file()).unwrap();
    other.chat(&asks(&world.bob), hello("far/m")).await.unwrap();
    assert!(provider.has_received(SECRET));
}

pub(super) async fn a_sealed_secret_moved_to_another_row_does_not_open(world: World) {
    let provider = ScriptedProvider::saying("hi");
    world.provide("far", &provider).await;
    let of_system = world.set("elsewhere", SECRET).await;
    let own = world.credentials.set(&world.bob, credential("far", "own")).await.unwrap();
    // An attacker with access to the database alone moves another provider's secret to bob's row.
    let (from, to) = (of_system.id, own.id);
    world
        .store
        .write(move |tx| {
            Box::pin(async move {
                let stolen = tx.credential_get(from).await?.map(|row| row.sealed);
                if let (Some(mut row), Some(sealed)) = (tx.credential_get(to).await?, stolen) {
                    (row.sealed, row.version) = (sealed, row.version + 1);
                    tx.credential_update(&row).await?;
                }
                Ok::<_, cynode_resources::StoreError>(())
            })
        })
        .await
        .unwrap();

    let refused = world.egress.chat(&asks(&world.bob), hello("far/m")).await;

    let error = refused.unwrap_err();
    let is_told = matches!(&error, EgressError::Credential(CredentialError::Unopenable { .. }));
    assert!(is_told, "{error}");
    assert_eq!(provider.requests().len(), 0);
}

pub(super) async fn another_process_uses_the_new_key_at_once(world: World) {
    let provider = ScriptedProvider::saying("hi");
    world.provide("far", &provider).await;
    world.set("far", SECRET).await;
    let other = world.other_process();
    other.chat(&asks(&world.bob), hello("far/m")).await.unwrap();

    world.credentials.rotate_key(&world.admin).await.unwrap();

    other.chat(&asks(&world.bob), hello("far/m")).await.unwrap();
}

impl World {
    /// The same installation in another process.
    pub(super) fn other_process(&self) -> cynode_models::egress::Egress {
        let of = || (self.store.clone(), self.clock.clone(), self.signals.clone());
        let credentials = CredentialManager::new(of().0, of().1, of().2, self.key_file());
        cynode_models::egress::Egress::new(of().0, of().1, of().2, credentials, self.tasks.clone())
    }
}
