//! Tests of users, passwords and sign-in records.

use cynode_domain::ids::UserId;
use cynode_store::{AuthEvent, Error, Store, User};

use crate::world::{at, user};

pub(crate) async fn a_user_is_found_by_id_and_by_handle(store: Store) {
    let ada = user("ada");
    let (id, made) = (ada.id, ada.clone());
    write_tx!(store, tx => tx.user_insert(&made).await);

    assert_eq!(read_tx!(store, tx => tx.user_get(id).await), Some(ada.clone()));
    assert_eq!(read_tx!(store, tx => tx.user_by_handle("ada").await), Some(ada));
    assert_eq!(read_tx!(store, tx => tx.user_by_handle("Ada").await), None);
    assert_eq!(read_tx!(store, tx => tx.user_get(UserId::generate()).await), None);
}

pub(crate) async fn a_taken_handle_is_a_duplicate(store: Store) {
    write_tx!(store, tx => tx.user_insert(&user("ada")).await);

    let refused = try_write_tx!(store, tx => tx.user_insert(&user("ada")).await).unwrap_err();

    assert!(matches!(&refused, Error::Duplicate { constraint } if constraint.contains("handle")));
    assert!(refused.is_duplicate());
}

pub(crate) async fn a_new_password_replaces_the_old_one(store: Store) {
    let ada = user("ada");
    let id = ada.id;
    write_tx!(store, tx => tx.user_insert(&ada).await);
    assert_eq!(read_tx!(store, tx => tx.password_get(id).await), None);

    write_tx!(store, tx => tx.password_set(id, "first", at(1)).await);
    write_tx!(store, tx => tx.password_set(id, "second", at(2)).await);

    assert_eq!(read_tx!(store, tx => tx.password_get(id).await).as_deref(), Some("second"));
}

pub(crate) async fn sign_in_records_are_listed_newest_first(store: Store) {
    let record = |event_type, success: bool| AuthEvent {
        event_type,
        user: success.then(UserId::generate),
        handle: Some("ada".to_owned()),
        success,
        ip_address: Some("127.0.0.1".to_owned()),
        reason: (!success).then(|| "wrong password".to_owned()),
        at: at(0),
    };
    for (event_type, success) in [("login_failure", false), ("login_success", true)] {
        write_tx!(store, tx => tx.auth_event_append(&record(event_type, success)).await);
    }

    let newest = read_tx!(store, tx => tx.auth_event_list(10).await);

    assert_eq!(newest, [("login_success".to_owned(), true), ("login_failure".to_owned(), false)]);
    assert_eq!(read_tx!(store, tx => tx.auth_event_list(1).await), newest[..1]);
}

pub(crate) async fn users_are_listed_by_handle_and_updated(store: Store) {
    for handle in ["eve", "ada", "bob"] {
        write_tx!(store, tx => tx.user_insert(&user(handle)).await);
    }
    let first = read_tx!(store, tx => tx.user_list(None, 2).await);
    let rest = read_tx!(store, tx => tx.user_list(Some("bob"), 2).await);
    let handles = |users: &[User]| users.iter().map(|u| u.handle.clone()).collect::<Vec<_>>();
    assert_eq!(
        (handles(&first), handles(&rest)),
        (vec!["ada".into(), "bob".into()], vec!["eve".into()])
    );

    let changed = User { is_admin: true, is_active: true, ..first[0].clone() };
    let (id, row) = (changed.id, changed.clone());
    write_tx!(store, tx => tx.user_update(&row, at(9)).await);

    assert_eq!(read_tx!(store, tx => tx.user_get(id).await), Some(changed.clone()));
    assert_eq!(write_tx!(store, tx => tx.user_lock_admins().await), [id]);
    let disabled = User { is_active: false, ..changed };
    write_tx!(store, tx => tx.user_update(&disabled, at(9)).await);
    assert_eq!(write_tx!(store, tx => tx.user_lock_admins().await), []);
}
