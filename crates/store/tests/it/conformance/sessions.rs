//! Tests of sessions and API tokens.

use cynode_domain::ids::{SessionId, TokenId, UserId};
use cynode_store::{ApiToken, Session, Store};

use crate::world::{World, at, user};

fn session(user: UserId, tokens: &str) -> Session {
    Session {
        id: SessionId::generate(),
        user,
        refresh_hash: format!("refresh {tokens}").into_bytes(),
        access_hash: format!("access {tokens}").into_bytes(),
        access_expires_at: at(900),
        expires_at: at(90_000),
        is_active: true,
        created_at: at(0),
    }
}

fn token(user: UserId, name: &str) -> ApiToken {
    ApiToken {
        id: TokenId::generate(),
        user,
        name: name.to_owned(),
        hash: format!("hash of {name}").into_bytes(),
        created_at: at(0),
        expires_at: Some(at(60)),
        revoked_at: None,
        last_used_at: None,
    }
}

async fn signed_in(world: &World, tokens: &str) -> Session {
    let new = session(world.user, tokens);
    let made = new.clone();
    write_tx!(world.store, tx => tx.session_insert(&made).await);
    new
}

pub(crate) async fn a_session_is_found_by_either_of_its_tokens(store: Store) {
    let world = World::new(store).await;
    let session = signed_in(&world, "one").await;

    let by_access = read_tx!(world.store, tx => tx.session_with_user(b"access one").await.map(|found| found.map(|(session, _)| session)));
    let by_refresh = write_tx!(world.store, tx => tx.session_by_refresh(b"refresh one").await);
    let crossed = read_tx!(world.store, tx => tx.session_with_user(b"refresh one").await.map(|found| found.map(|(session, _)| session)));

    assert_eq!((by_access, by_refresh), (Some(session.clone()), Some(session)));
    assert_eq!(crossed, None);
}

pub(crate) async fn what_is_presented_is_found_together_with_its_user(store: Store) {
    let world = World::new(store).await;
    let (id, session, token) =
        (world.user, signed_in(&world, "one").await, token(world.user, "laptop"));
    let made = token.clone();
    write_tx!(world.store, tx => tx.token_insert(&made).await);
    let user = read_tx!(world.store, tx => tx.user_get(id).await).unwrap();

    let by_session = read_tx!(world.store, tx => tx.session_with_user(b"access one").await);
    let by_token = read_tx!(world.store, tx => tx.token_with_user(b"hash of laptop").await);
    let of_nobody = read_tx!(world.store, tx => tx.token_with_user(b"access one").await);

    assert_eq!(by_session, Some((session, user.clone())));
    assert_eq!(by_token, Some((token, user)));
    assert_eq!(of_nobody, None);
}

pub(crate) async fn a_rotated_session_answers_to_its_new_tokens_only(store: Store) {
    let world = World::new(store).await;
    let old = signed_in(&world, "old").await;
    let new = Session { access_expires_at: at(1800), ..session(world.user, "new") };
    let rotated = Session { id: old.id, ..new.clone() };
    assert_eq!(
        read_tx!(world.store, tx => tx.session_by_spent_refresh(b"refresh old").await),
        None
    );

    let id = old.id;
    write_tx!(world.store, tx => tx.session_rotate(&old, &new).await);

    let found = read_tx!(world.store, tx => tx.session_with_user(b"access new").await.map(|found| found.map(|(session, _)| session)));
    assert_eq!(found, Some(rotated));
    assert_eq!(
        read_tx!(world.store, tx => tx.session_with_user(b"access old").await.map(|found| found.map(|(session, _)| session))),
        None
    );
    assert_eq!(write_tx!(world.store, tx => tx.session_by_refresh(b"refresh old").await), None);
    let spent = read_tx!(world.store, tx => tx.session_by_spent_refresh(b"refresh old").await);
    assert_eq!(spent, Some(id));
}

pub(crate) async fn a_refresh_token_is_spent_only_once(store: Store) {
    let world = World::new(store).await;
    let old = signed_in(&world, "old").await;
    let (again, first, second) =
        (old.clone(), session(world.user, "first"), session(world.user, "second"));
    write_tx!(world.store, tx => tx.session_rotate(&old, &first).await);

    let refused = try_write_tx!(world.store, tx => tx.session_rotate(&again, &second).await);

    assert!(refused.unwrap_err().is_duplicate());
    let found = read_tx!(world.store, tx => tx.session_with_user(b"access first").await.map(|found| found.map(|(session, _)| session)));
    assert!(found.is_some());
}

pub(crate) async fn an_ended_session_stays_ended(store: Store) {
    let world = World::new(store).await;
    let id = signed_in(&world, "one").await.id;

    for _ in 0..2 {
        write_tx!(world.store, tx => tx.session_end(id).await);
        let found = read_tx!(world.store, tx => tx.session_with_user(b"access one").await.map(|found| found.map(|(session, _)| session)));
        assert!(!found.unwrap().is_active);
    }
}

pub(crate) async fn api_tokens_are_paged_newest_first(store: Store) {
    let world = World::new(store).await;
    let (user, other) = (world.user, world.other_user("bob").await);
    let tokens = ["a", "b", "c"].map(|name| token(user, name));
    for new in tokens.clone().into_iter().chain([token(other, "of bob")]) {
        write_tx!(world.store, tx => tx.token_insert(&new).await);
    }

    let page = read_tx!(world.store, tx => tx.token_list(user, None, 2).await);
    let last = page.last().unwrap().id;
    let rest = read_tx!(world.store, tx => tx.token_list(user, Some(last), 2).await);

    assert_eq!(page, [tokens[2].clone(), tokens[1].clone()]);
    assert_eq!(rest, [tokens[0].clone()]);
}

pub(crate) async fn an_api_token_is_revoked_by_its_owner_only_and_for_good(store: Store) {
    let world = World::new(store).await;
    let (user, other) = (world.user, world.other_user("bob").await);
    let new = token(user, "a");
    let id = new.id;
    write_tx!(world.store, tx => tx.token_insert(&new).await);

    assert!(!write_tx!(world.store, tx => tx.token_revoke(other, id, at(5)).await));
    let untouched = read_tx!(world.store, tx => tx.token_with_user(b"hash of a").await.map(|found| found.map(|(token, _)| token))).unwrap();
    assert_eq!(untouched.revoked_at, None);

    assert!(write_tx!(world.store, tx => tx.token_revoke(user, id, at(6)).await));
    assert!(write_tx!(world.store, tx => tx.token_revoke(user, id, at(7)).await));
    let revoked = read_tx!(world.store, tx => tx.token_with_user(b"hash of a").await.map(|found| found.map(|(token, _)| token))).unwrap();
    assert_eq!(revoked.revoked_at, Some(at(6)));
}

pub(crate) async fn a_token_hash_is_stored_only_once(store: Store) {
    let world = World::new(store).await;
    let user = world.user;
    signed_in(&world, "one").await;
    write_tx!(world.store, tx => tx.token_insert(&token(user, "a")).await);

    let session = session(user, "one");
    let same_session = try_write_tx!(world.store, tx => tx.session_insert(&session).await);
    let same_token = try_write_tx!(world.store, tx => tx.token_insert(&token(user, "a")).await);

    assert!(same_session.unwrap_err().is_duplicate());
    assert!(same_token.unwrap_err().is_duplicate());
}

pub(crate) async fn all_sessions_and_tokens_of_a_user_end_and_no_others(store: Store) {
    let world = World::new(store).await;
    let (kept, ended) = (signed_in(&world, "kept").await, signed_in(&world, "ended").await);
    let other = user("eve");
    let (foreign, id) = (session(other.id, "foreign"), world.user);
    let (ours, theirs) = (token(id, "ours"), token(other.id, "theirs"));
    let made = (other, foreign.clone(), ours.clone(), theirs.clone());
    write_tx!(world.store, tx => {
        tx.user_insert(&made.0).await?;
        tx.session_insert(&made.1).await?;
        tx.token_insert(&made.2).await?;
        tx.token_insert(&made.3).await
    });

    let except = kept.access_hash.clone();
    let sessions = write_tx!(world.store, tx => tx.session_end_all(id, Some(&except)).await);
    let tokens = write_tx!(world.store, tx => tx.token_revoke_all(id, at(5)).await);

    assert_eq!((sessions, tokens), (1, 1));
    for (session, is_active) in [(&kept, true), (&ended, false), (&foreign, true)] {
        let id = session.id;
        let found = read_tx!(world.store, tx => tx.session_get(id).await).unwrap();
        assert_eq!(found.is_active, is_active);
    }
    for (token, revoked_at) in [(&ours, Some(at(5))), (&theirs, None)] {
        let hash = token.hash.clone();
        let found = read_tx!(world.store, tx => tx.token_with_user(&hash).await.map(|found| found.map(|(token, _)| token))).unwrap();
        assert_eq!(found.revoked_at, revoked_at);
    }
    assert_eq!(write_tx!(world.store, tx => tx.session_end_all(id, None).await), 1);
}

pub(crate) async fn the_last_use_of_a_token_is_recorded_once_in_a_while(store: Store) {
    let world = World::new(store).await;
    let token = token(world.user, "laptop");
    let (id, made) = (token.id, token.clone());
    write_tx!(world.store, tx => tx.token_insert(&made).await);

    for (used, since, recorded) in [(10, 0, 10), (20, 5, 10), (30, 11, 30)] {
        write_tx!(world.store, tx => tx.token_mark_used(id, at(used), at(since)).await);
        let hash = token.hash.clone();
        let found = read_tx!(world.store, tx => tx.token_with_user(&hash).await.map(|found| found.map(|(token, _)| token))).unwrap();
        assert_eq!(found.last_used_at, Some(at(recorded)));
    }
}
