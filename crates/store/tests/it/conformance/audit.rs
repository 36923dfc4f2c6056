//! Tests of the audit log.

use std::sync::Arc;

use cynode_domain::ids::{CallId, ChainId, ProjectId, TaskId, UserId};
use cynode_domain::policy::{CallStatus, Effect, Stage};
use cynode_store::{
    AuditCall, AuditCaller, AuditCursor, AuditFilter, AuditKeys, AuditOutcome, AuditWriter,
    ChainPosition, ChainReport, ChainVerifier, SignedPosition, Store, StoredCall, TokenBinding,
};
use futures_util::future::join_all;

use crate::world::{at, eventually};

pub(crate) fn call(number: u32) -> AuditCall {
    AuditCall {
        id: CallId::generate(),
        created_at: at(i64::from(number)),
        caller: AuditCaller {
            kind: "pm".to_owned(),
            user: Some(UserId::generate()),
            roles: vec!["user".to_owned()],
            ..AuditCaller::default()
        },
        binding: TokenBinding { task: Some(TaskId::generate()), ..TokenBinding::default() },
        tool: "db.task.get".to_owned(),
        server: "builtin".to_owned(),
        decision: Effect::Allow,
        stage: Stage::Invoke,
        status: CallStatus::Pending,
        error_type: None,
        duration_ms: None,
        origin: "gateway".to_owned(),
        request_id: format!("request-{number}"),
    }
}

pub(crate) fn denied(number: u32) -> AuditCall {
    AuditCall {
        decision: Effect::Deny,
        stage: Stage::Rules,
        status: CallStatus::Error,
        error_type: Some("forbidden".to_owned()),
        ..call(number)
    }
}

pub(crate) fn success(call: CallId) -> AuditOutcome {
    AuditOutcome {
        call,
        status: CallStatus::Success,
        error_type: None,
        duration_ms: Some(3),
        recorded_at: at(9),
    }
}

pub(crate) fn keys() -> Arc<AuditKeys> {
    Arc::new(AuditKeys::new(&[7; 32], vec![]).unwrap())
}

pub(crate) async fn open_writer(store: &Store, chain: ChainId) -> AuditWriter {
    open_writer_at(store, chain, None).await
}

/// Opens a chain that must contain the known position.
pub(crate) async fn open_writer_at(
    store: &Store,
    chain: ChainId,
    known: Option<ChainPosition>,
) -> AuditWriter {
    let now = Arc::new(|| at(99));
    AuditWriter::open(store, chain, known, ChainId::generate(), keys(), now).await.unwrap()
}

/// Verifies every chain.
pub(crate) async fn verify(store: &Store) -> Vec<ChainReport> {
    let mut reports = vec![];
    for (head, signature) in read_tx!(store, tx => tx.chain_list().await) {
        let chain = head.chain;
        let anchor = read_tx!(store, tx => tx.chain_anchor(chain).await);
        let start = ChainPosition::start(chain);
        let mut verifier = ChainVerifier::after_anchor(start, anchor.as_ref(), vec![], &keys());
        for found in read_tx!(store, tx => tx.chain_records(chain, i64::MIN, 10_000).await) {
            verifier.check_record(&found.seal, found.record.as_ref().map_err(ToString::to_string));
        }
        let head = SignedPosition { position: head.position(), signature };
        reports.push(verifier.finish(Some(&head), &keys()));
    }
    let strays = read_tx!(store, tx => tx.chain_list_unregistered().await);
    reports.extend(strays.into_iter().map(ChainReport::of_unregistered_chain));
    reports
}

/// Asserts that every chain verifies; returns the number of records.
async fn verified_records(store: &Store) -> u64 {
    let reports = verify(store).await;
    for report in &reports {
        assert_eq!(report.faults, Vec::<String>::new());
    }
    reports.iter().map(|report| report.records).sum()
}

async fn get(store: &Store, id: CallId) -> StoredCall {
    read_tx!(store, tx => tx.call_get(id).await).unwrap()
}

pub(crate) async fn a_call_is_read_back_with_what_came_of_it(store: Store) {
    let lane = open_writer(&store, ChainId::generate()).await;
    let (made, refused) = (call(1), denied(2));
    lane.call(made.clone()).await.unwrap();
    lane.call(refused.clone()).await.unwrap();
    assert_eq!(get(&store, made.id).await.outcome, None);

    lane.record_outcome(success(made.id)).await.unwrap();

    let found = get(&store, made.id).await;
    assert_eq!((found.seq, found.chain), (1, lane.chain()));
    assert_eq!((found.call, found.outcome), (made.clone(), Some(success(made.id))));
    assert_eq!(get(&store, refused.id).await.call, refused);
    assert_eq!(verified_records(&store).await, 3);
}

pub(crate) async fn a_call_has_one_outcome(store: Store) {
    let lane = open_writer(&store, ChainId::generate()).await;
    let (made, refused) = (call(1), denied(2));
    lane.call(made.clone()).await.unwrap();
    lane.call(refused.clone()).await.unwrap();
    lane.record_outcome(success(made.id)).await.unwrap();

    for id in [made.id, refused.id, CallId::generate()] {
        assert!(lane.record_outcome(success(id)).await.unwrap_err().is_duplicate());
    }

    assert_eq!(verified_records(&store).await, 3);
}

pub(crate) async fn many_concurrent_calls_make_one_whole_chain(store: Store) {
    let lane = open_writer(&store, ChainId::generate()).await;
    let calls = (0..200).map(|number| {
        let lane = lane.clone();
        async move {
            let made = call(number);
            lane.call(made.clone()).await.unwrap();
            if number % 3 != 0 {
                lane.record_outcome(success(made.id)).await.unwrap();
            }
        }
    });

    join_all(calls).await;

    let reports = verify(&store).await;
    assert_eq!(reports.len(), 1);
    assert_eq!((reports[0].records, reports[0].head.seq), (333, 333));
    assert_eq!(reports[0].faults, Vec::<String>::new());
}

pub(crate) async fn calls_left_open_by_a_dead_writer_are_closed_by_the_next(store: Store) {
    let chain = ChainId::generate();
    let dead = open_writer(&store, chain).await;
    let (ended, open, refused) = (call(1), call(2), denied(3));
    for made in [&ended, &open, &refused] {
        dead.call(made.clone()).await.unwrap();
    }
    dead.record_outcome(success(ended.id)).await.unwrap();
    drop(dead);

    let next = open_writer(&store, chain).await;

    assert_eq!(next.chain(), chain);
    let outcome = get(&store, open.id).await.outcome.unwrap();
    assert_eq!((outcome.status, outcome.recorded_at), (CallStatus::Error, at(99)));
    assert_eq!(outcome.error_type.as_deref(), Some("interrupted"));
    assert_eq!(get(&store, ended.id).await.outcome, Some(success(ended.id)));
    assert_eq!(get(&store, refused.id).await.outcome, None);
    next.call(call(4)).await.unwrap();
    assert_eq!(verified_records(&store).await, 6);
}

pub(crate) async fn a_call_whose_caller_went_away_is_closed_as_interrupted(store: Store) {
    let lane = open_writer(&store, ChainId::generate()).await;
    let abandoned = call(1);
    lane.call(abandoned.clone()).await.unwrap();
    lane.abandon_call(abandoned.id);
    let closed = eventually(|| async { get(&store, abandoned.id).await.outcome }).await;
    let (mut others, mut answered) = (0, 0);
    let dropped = loop {
        // The caller is dropped once its record is queued, before the reply.
        let leaving = call(2);
        let mut going = Box::pin(lane.call(leaving.clone()));
        let _ = futures_util::poll!(going.as_mut());
        drop(going);
        // The first may share its commit with that record, the second with its outcome.
        for number in [3, 4] {
            lane.call(denied(number)).await.unwrap();
            others += 1;
        }
        if let Some(outcome) = get(&store, leaving.id).await.outcome {
            break outcome;
        }
        // On a busy machine the reply may arrive before the caller is dropped: then the case does not apply.
        answered += 1;
        assert!(answered < 100, "no dropped caller was detected");
    };

    for outcome in [closed, dropped] {
        assert_eq!(outcome.error_type.as_deref(), Some("interrupted"));
    }
    assert_eq!(verified_records(&store).await, 4 + others + answered);
}

pub(crate) async fn calls_are_filtered_and_paged_newest_first(store: Store) {
    let lane = open_writer(&store, ChainId::generate()).await;
    let project = ProjectId::generate();
    let other = AuditCall { tool: "help.get".to_owned(), ..call(3) };
    let mut calls = vec![call(1), denied(2), other, call(3)];
    calls[3].binding.project = Some(project);
    for made in &calls {
        lane.call(made.clone()).await.unwrap();
    }
    let places = |filter: AuditFilter| {
        let (store, calls) = (store.clone(), &calls);
        async move {
            let found = read_tx!(store, tx => tx.call_list(&filter, 10).await);
            let position = |found: &StoredCall| calls.iter().position(|made| *made == found.call);
            found.iter().map(|found| position(found).unwrap()).collect::<Vec<_>>()
        }
    };
    let all = AuditFilter::default;

    assert_eq!(places(all()).await, [3, 2, 1, 0]);
    let tool = Some("help.get".to_owned());
    assert_eq!(places(AuditFilter { tool, ..all() }).await, [2]);
    let task = calls[0].binding.task;
    assert_eq!(places(AuditFilter { task, ..all() }).await, [0]);
    assert_eq!(places(AuditFilter { project: Some(project), ..all() }).await, [3]);
    let user = calls[1].caller.user;
    assert_eq!(places(AuditFilter { user, ..all() }).await, [1]);
    let decision = Some(Effect::Deny);
    assert_eq!(places(AuditFilter { decision, ..all() }).await, [1]);
    let (since, until) = (Some(at(2)), Some(at(3)));
    assert_eq!(places(AuditFilter { since, until, ..all() }).await, [1]);
    let before = Some(AuditCursor { created_at: calls[3].created_at, id: calls[3].id });
    assert_eq!(places(AuditFilter { before, ..all() }).await, [2, 1, 0]);
}

pub(crate) async fn each_writer_has_a_chain_of_its_own(store: Store) {
    let (one, two) = (
        open_writer(&store, ChainId::generate()).await,
        open_writer(&store, ChainId::generate()).await,
    );
    for number in 0..10 {
        let (first, second) = tokio::join!(one.call(call(number)), two.call(denied(number)));
        first.unwrap();
        second.unwrap();
    }

    let reports = verify(&store).await;

    assert_eq!(reports.iter().map(|report| report.records).collect::<Vec<_>>(), [10, 10]);
    assert_eq!(verified_records(&store).await, 20);
}

pub(crate) async fn forgetting_the_oldest_records_keeps_the_chain_whole(store: Store) {
    let chain = ChainId::generate();
    let writer = open_writer(&store, chain).await;
    for number in 0..5 {
        writer.call(denied(number)).await.unwrap();
    }
    for last in [2, 5] {
        let sealed = read_tx!(store, tx => tx.chain_records(chain, last, 1).await);
        let position = ChainPosition { chain, seq: last, hash: sealed[0].seal.hash.clone() };
        write_tx!(store, tx => tx.chain_truncate(&position, &keys(), at(50)).await);
        assert_eq!(verified_records(&store).await, u64::try_from(5 - last).unwrap());
    }
    let anchor = read_tx!(store, tx => tx.chain_anchor(chain).await).unwrap();
    assert_eq!(anchor.position.seq, 5);

    writer.call(denied(6)).await.unwrap();
    drop(writer);
    open_writer(&store, chain).await.call(denied(7)).await.unwrap();

    assert_eq!(verified_records(&store).await, 2);
}

pub(crate) async fn a_second_writer_of_the_same_chain_does_not_break_it(store: Store) {
    let chain = ChainId::generate();
    // Opened at the same time, as by processes that share a data directory.
    let writers = join_all((0..8).map(|_| open_writer(&store, chain))).await;
    let [one, two, ..] = writers.as_slice() else { unreachable!() };
    one.call(denied(1)).await.unwrap();

    let mut refused = 0;
    for number in 0..6 {
        let writer = if number % 2 == 0 { two } else { one };
        refused += u32::from(writer.call(denied(number)).await.is_err());
    }

    // Each writer gets one error because the chain has advanced without it, and then appends after the other.
    assert!(refused > 0);
    assert_eq!(verified_records(&store).await, u64::from(7 - refused));
}
