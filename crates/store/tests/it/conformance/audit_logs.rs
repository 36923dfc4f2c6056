//! Tests of the logs that are sealed after their rows were written.

use cynode_store::{AuthEvent, LOG_CHAIN, LogSealing, Store};

use super::audit::{keys, verify};
use crate::world::at;

async fn record_sign_ins(store: &Store, count: u32) {
    for number in 0..count {
        let event = AuthEvent {
            event_type: "login",
            user: None,
            handle: Some(format!("user-{number}")),
            success: number % 2 == 0,
            ip_address: None,
            reason: None,
            at: at(i64::from(number)),
        };
        write_tx!(store, tx => tx.auth_event_append(&event).await);
    }
}

async fn seal(store: &Store, limit: u32) -> LogSealing {
    write_tx!(store, tx => tx.log_seal(&keys(), None, limit).await)
}

fn sealed(sealing: &LogSealing) -> (i64, usize) {
    match sealing {
        LogSealing::Sealed { head, rows, unsealable: 0 } => (head.seq, *rows),
        LogSealing::Sealed { .. } => panic!("not all rows"),
        LogSealing::Refused => panic!("refused"),
    }
}

pub(crate) async fn rows_of_a_log_are_sealed_once_and_in_order(store: Store) {
    assert!(!read_tx!(store, tx => tx.log_has_unsealed().await));
    record_sign_ins(&store, 5).await;
    assert!(read_tx!(store, tx => tx.log_has_unsealed().await));

    assert_eq!(sealed(&seal(&store, 3).await), (3, 3));
    assert_eq!(sealed(&seal(&store, 3).await), (5, 2));
    assert_eq!(sealed(&seal(&store, 3).await), (5, 0));

    assert!(!read_tx!(store, tx => tx.log_has_unsealed().await));
    let reports = verify(&store).await;
    assert_eq!((reports.len(), reports[0].head.chain, reports[0].records), (1, LOG_CHAIN, 5));
    assert_eq!(reports[0].faults, Vec::<String>::new());
    let records = read_tx!(store, tx => tx.chain_records(LOG_CHAIN, 3, 2).await);
    let times: Vec<_> = records.iter().map(|sealed| sealed.record.as_ref().unwrap().at()).collect();
    assert_eq!(times, [at(2), at(3)]);
}

pub(crate) async fn concurrent_sealers_of_the_logs_make_one_chain(store: Store) {
    record_sign_ins(&store, 40).await;

    let sealers = (0..6).map(|_| async {
        for _ in 0..4 {
            seal(&store, 7).await;
        }
    });
    futures_util::future::join_all(sealers).await;

    let reports = verify(&store).await;
    assert_eq!((reports[0].records, &reports[0].faults), (40, &vec![]));
}
