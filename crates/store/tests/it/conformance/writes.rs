//! Tests of operations: atomic and isolated.

use cynode_store::{Error, Store, Tx, User};
use futures_util::future::{BoxFuture, join_all};

use crate::world::user;

/// The future of a test operation.
type WriteFuture<'a> = BoxFuture<'a, Result<(), Error>>;

async fn user_exists(store: &Store, handle: String) -> bool {
    read_tx!(store, tx => tx.user_by_handle(&handle).await).is_some()
}

/// Adds a user, then acts according to its handle: returns an error, panics, or breaks a rule.
fn add(tx: &mut Tx, user: User) -> WriteFuture<'_> {
    Box::pin(async move {
        tx.user_insert(&user).await?;
        match user.handle.split('-').next() {
            Some("refuses") => Err(Error::Closed),
            Some("panics") => panic!("an operation panics on purpose"),
            Some("collides") => tx.user_insert(&user).await,
            Some("hides") => {
                let _ = tx.user_insert(&user).await;
                Ok(())
            }
            _ => Ok(()),
        }
    })
}

const MISHAPS: [&str; 4] = ["refuses", "panics", "collides", "hides"];

/// 200 handles of which every third belongs to an operation that fails in one of four ways.
fn mixed_handles() -> Vec<String> {
    let handle = |number: usize| match number % 3 {
        0 => format!("{}-{number}", MISHAPS[number / 3 % 4]),
        _ => format!("works-{number}"),
    };
    (0..200).map(handle).collect()
}

async fn assert_only_the_others_are_there(store: &Store, outcomes: Vec<(String, bool)>) {
    for (handle, succeeded) in outcomes {
        let works = handle.starts_with("works");
        assert_eq!(succeeded, works, "{handle}");
        assert_eq!(user_exists(store, handle.clone()).await, works, "{handle}");
    }
}

pub(crate) async fn an_operation_that_fails_halfway_leaves_nothing(store: Store) {
    for mishap in ["refuses", "collides"] {
        let failed = store.write(move |tx| add(tx, user(mishap))).await;

        assert!(failed.is_err());
        assert!(!user_exists(&store, mishap.to_owned()).await);
    }
}

pub(crate) async fn a_callers_own_refusal_comes_back_as_it_is(store: Store) {
    #[derive(Debug)]
    enum TestRefusal {
        NotToday,
        Store(Error),
    }
    impl From<Error> for TestRefusal {
        fn from(error: Error) -> Self {
            Self::Store(error)
        }
    }
    write_tx!(store, tx => tx.user_insert(&user("ada")).await);

    let own: Result<(), _> = try_write_tx!(store, _tx => Err(TestRefusal::NotToday));
    let duplicate =
        try_write_tx!(store, tx => Ok::<_, TestRefusal>(tx.user_insert(&user("ada")).await?));

    assert!(matches!(own, Err(TestRefusal::NotToday)));
    assert!(matches!(duplicate, Err(TestRefusal::Store(Error::Duplicate { .. }))));
}

pub(crate) async fn an_operation_that_hides_a_failed_statement_keeps_nothing(store: Store) {
    let written = store.write(|tx| add(tx, user("hides-1"))).await;

    assert!(matches!(written, Err(Error::Statement(_))));
    assert!(!user_exists(&store, "hides-1".to_owned()).await);
}

pub(crate) async fn a_panicking_operation_is_undone_and_the_store_goes_on(store: Store) {
    for number in 0..20 {
        let panicked = store.write(move |tx| add(tx, user(&format!("panics-{number}")))).await;
        assert!(matches!(panicked, Err(Error::Statement(_))));
        assert!(!user_exists(&store, format!("panics-{number}")).await);
    }

    store.write(|tx| add(tx, user("works"))).await.unwrap();

    assert!(user_exists(&store, "works".to_owned()).await);
}

pub(crate) async fn a_panicking_read_leaves_the_store_usable(store: Store) {
    for _ in 0..20 {
        let panicked: Result<(), Error> =
            store.read(|_| Box::pin(async { panic!("a reader panics on purpose") })).await;
        assert!(matches!(panicked, Err(Error::Statement(_))));
    }

    assert!(!user_exists(&store, "ada".to_owned()).await);
}

pub(crate) async fn failing_writes_do_not_harm_their_neighbours(store: Store) {
    let writes = mixed_handles().into_iter().map(|handle| {
        let user = user(&handle);
        async { (handle, store.write(move |tx| add(tx, user)).await.is_ok()) }
    });

    let outcomes = join_all(writes).await;

    assert_only_the_others_are_there(&store, outcomes).await;
}

pub(crate) async fn many_concurrent_writes_are_all_kept(store: Store) {
    let write = |number: usize| {
        let user = user(&format!("u{number}"));
        store.write(move |tx| add(tx, user))
    };

    let outcomes = join_all((0..500).map(write)).await;

    assert!(outcomes.iter().all(Result::is_ok));
    for number in 0..500 {
        assert!(user_exists(&store, format!("u{number}")).await);
    }
}

pub(crate) async fn a_reader_cannot_write(store: Store) {
    let refused = store.read(|tx| add(tx, user("ada"))).await;

    assert!(refused.is_err());
    assert!(!user_exists(&store, "ada".to_owned()).await);
    store.write(|tx| add(tx, user("ada"))).await.unwrap();
}

pub(crate) async fn a_reader_sees_what_was_written_before(store: Store) {
    for number in 0..50 {
        let handle = format!("u{number}");
        let new = user(&handle);
        store.write(move |tx| add(tx, new)).await.unwrap();

        assert!(user_exists(&store, handle).await);
    }
}

pub(crate) async fn text_with_a_nul_character_is_refused(store: Store) {
    let refused = try_write_tx!(store, tx => tx.user_insert(&user("a\0b")).await);
    let unfound: Result<_, Error> =
        store.read(|tx| Box::pin(async move { tx.user_by_handle("a\0b").await })).await;

    assert!(matches!(refused, Err(Error::NulCharacter)));
    assert!(matches!(unfound, Err(Error::NulCharacter)));
}
