//! The audit log of a node: restarts, cut lines, changed files, a full disk.

use std::fs;
use std::path::PathBuf;

use cynode_audit::{AuditCaller, AuditRecord, ChainHead};
use cynode_domain::agent::TokenBinding;
use cynode_domain::policy::Stage;
use cynode_wire::capability_leases::EdgeRecord;
use tempfile::TempDir;

use super::*;

fn noon() -> DateTime<Utc> {
    "2026-01-01T12:00:00Z".parse().unwrap()
}

fn call() -> AuditCall {
    AuditCall {
        id: CallId::generate(),
        created_at: noon(),
        caller: AuditCaller { kind: "pm".to_owned(), ..AuditCaller::default() },
        binding: TokenBinding::default(),
        tool: "sandbox.exec".to_owned(),
        server: "builtin".to_owned(),
        decision: Effect::Allow,
        stage: Stage::Invoke,
        status: CallStatus::Pending,
        error_type: None,
        duration_ms: None,
        origin: "node:n".to_owned(),
        request_id: "r".to_owned(),
    }
}

fn open(directory: &TempDir) -> EdgeAuditLog {
    EdgeAuditLog::open_with_limit(&file(directory), noon(), MAX_FILE_BYTES).unwrap()
}

fn file(directory: &TempDir) -> PathBuf {
    directory.path().join("edge-audit.log")
}

fn parse(record: &EdgeRecord) -> CallRecord {
    serde_json::from_value(record.record.clone()).unwrap()
}

/// The outcomes in a report, with their kinds of failure.
fn outcomes(records: &[EdgeRecord]) -> Vec<(CallId, Option<String>)> {
    let outcome = |record: &EdgeRecord| match parse(record) {
        CallRecord::Outcome(outcome) => Some((outcome.call, outcome.error_type)),
        CallRecord::Call(_) => None,
    };
    records.iter().filter_map(outcome).collect()
}

/// Checks that records continue a chain, as the orchestrator does.
fn check_chain(head: &mut ChainHead, records: &[EdgeRecord]) {
    for sealed in records {
        let seal = head.seal(&AuditRecord::from(parse(sealed)));
        assert_eq!((seal.seq, hex::encode(seal.hash)), (sealed.seq, sealed.hash.clone()));
    }
}

#[test]
fn records_survive_a_restart_and_are_reported_until_they_are_stored() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(&directory);
    let first = log.begin(call()).unwrap();
    first.finish(None, 7, noon()).unwrap();
    drop(log);

    let log = open(&directory);
    let report = log.next_report(100).unwrap();
    assert_eq!(report.records.len(), 2);
    check_chain(&mut ChainHead::new(report.chain), &report.records);
    assert_eq!(log.next_report(1).unwrap().records, report.records[..1]);
    log.mark_stored(report.chain, 1).unwrap();
    assert_eq!(log.next_report(100).unwrap().records, report.records[1..]);
    assert!(!log.is_stored());
    log.mark_stored(report.chain, 2).unwrap();
    assert!(log.is_stored());
    // A reply that arrives late changes nothing.
    log.mark_stored(report.chain, 1).unwrap();
    log.mark_stored(ChainId::generate(), 9).unwrap();
    assert!(log.next_report(100).unwrap().records.is_empty());
}

#[test]
fn a_call_without_an_outcome_is_interrupted_by_a_drop_or_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(&directory);
    let dropped = log.begin(call()).unwrap();
    let dropped_id = dropped.call.unwrap();
    drop(dropped);
    let killed = log.begin(call()).unwrap();
    let killed_id = killed.call.unwrap();
    std::mem::forget(killed);
    drop(log);

    let records = open(&directory).next_report(100).unwrap().records;

    let interrupted = Some("interrupted".to_owned());
    let expected = [(dropped_id, interrupted.clone()), (killed_id, interrupted)];
    assert_eq!(outcomes(&records), expected);
    assert_eq!(open(&directory).next_report(100).unwrap().records, records);
}

#[test]
fn a_line_that_a_crash_cut_is_removed_and_the_chain_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(&directory);
    log.record_denial(AuditCall { decision: Effect::Deny, ..call() }).unwrap();
    let whole = fs::read(file(&directory)).unwrap();
    log.record_denial(AuditCall { decision: Effect::Deny, ..call() }).unwrap();
    drop(log);
    let both = fs::read(file(&directory)).unwrap();

    for cut in whole.len()..both.len() {
        fs::write(file(&directory), &both[..cut]).unwrap();
        let log = open(&directory);
        log.record_denial(AuditCall { decision: Effect::Deny, ..call() }).unwrap();
        let report = log.next_report(100).unwrap();
        assert_eq!(report.records.len(), 2, "cut at {cut}");
        check_chain(&mut ChainHead::new(report.chain), &report.records);
    }
}

#[test]
fn a_modified_file_is_kept_as_evidence_and_a_new_chain_begins() {
    for damage in ["header", "record", "missing"] {
        let directory = tempfile::tempdir().unwrap();
        let log = open(&directory);
        for _ in 0..3 {
            log.record_denial(AuditCall { decision: Effect::Deny, ..call() }).unwrap();
        }
        let chain = log.next_report(1).unwrap().chain;
        drop(log);
        let text = fs::read_to_string(file(&directory)).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        match damage {
            "header" => lines[0] = "{}".to_owned(),
            "record" => lines[2] = lines[2].replace("sandbox.exec", "sandbox.exed"),
            _ => drop(lines.remove(2)),
        }
        let modified = lines.join("\n") + "\n";
        fs::write(file(&directory), &modified).unwrap();

        let log = open(&directory);

        let report = log.next_report(100).unwrap();
        assert_ne!(report.chain, chain, "{damage}");
        assert!(report.records.is_empty());
        let kept = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
        let kept: Vec<_> = kept.filter(|path| *path != file(&directory)).collect();
        assert_eq!(fs::read_to_string(&kept[0]).unwrap(), modified, "{damage}");
    }
}

#[test]
fn a_full_log_admits_no_call_until_records_are_stored() {
    let directory = tempfile::tempdir().unwrap();
    let log = EdgeAuditLog::open_with_limit(&file(&directory), noon(), 3_000).unwrap();
    let mut open_calls = vec![];
    let full = loop {
        match log.begin(call()) {
            Ok(open) => open_calls.push(open),
            Err(error) => break error,
        }
    };
    assert!(matches!(full, EdgeAuditError::Full(_)), "{full}");
    assert!(log.record_denial(call()).is_err());

    // A call that was made gets its outcome all the same.
    let count = open_calls.len();
    for open in open_calls {
        open.finish(None, 1, noon()).unwrap();
    }
    let report = log.next_report(1_000).unwrap();
    assert_eq!(outcomes(&report.records).len(), count);
}

#[test]
fn stored_records_leave_the_file_and_calls_that_run_keep_their_outcome() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(&directory);
    let mut head = ChainHead::new(log.next_report(1).unwrap().chain);
    let running = log.begin(call()).unwrap();
    let running_id = running.call.unwrap();
    let mut largest = 0;
    let mut reported = 0;
    for _ in 0..3_000 {
        log.begin(call()).unwrap().finish(None, 1, noon()).unwrap();
        let report = log.next_report(500).unwrap();
        // The newest record waits for the next report.
        let stored = &report.records[..report.records.len() - 1];
        check_chain(&mut head, stored);
        reported += stored.len();
        log.mark_stored(head.chain, head.seq).unwrap();
        largest = largest.max(fs::metadata(file(&directory)).unwrap().len());
    }
    assert!(largest < 2 * COMPACTION_BYTES, "{largest}");
    assert_eq!(reported, 6_000);

    // A kill: the call that began in a record which is no longer in the file still gets its outcome.
    std::mem::forget(running);
    drop(log);
    let log = open(&directory);
    let report = log.next_report(500).unwrap();
    let rest = report.records.iter().filter(|record| record.seq > head.seq).cloned();
    let rest: Vec<_> = rest.collect();
    check_chain(&mut head, &rest);
    assert!(outcomes(&rest).contains(&(running_id, Some("interrupted".to_owned()))));
}

#[test]
fn another_key_of_the_node_begins_another_chain() {
    let directory = tempfile::tempdir().unwrap();
    let open = |key: &str| EdgeAuditLog::open(directory.path(), key, noon()).unwrap();
    let chain = |log: &EdgeAuditLog| log.next_report(1).unwrap().chain;
    let first = open("old");
    drop(first.begin(call()).unwrap());

    let second = open("new");

    assert_ne!(chain(&first), chain(&second));
    assert!(second.next_report(1).unwrap().records.is_empty());
    assert_eq!(chain(&open("old")), chain(&first));
}

#[test]
fn a_refused_chain_and_one_that_was_rewound_are_kept_and_a_new_one_begins() {
    for is_rewound in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let log = open(&directory);
        let running = log.begin(call()).unwrap();
        let old = log.next_report(9).unwrap();

        if is_rewound {
            log.mark_stored(old.chain, 7).unwrap();
        } else {
            log.abandon_chain(ChainId::generate(), "of another chain").unwrap();
            assert_eq!(log.next_report(9).unwrap(), old);
            log.abandon_chain(old.chain, "refused").unwrap();
        }

        // The outcome of a call of the old chain is not written into the new one, which would be refused too.
        running.finish(None, 1, noon()).unwrap();
        log.begin(call()).unwrap().finish(None, 1, noon()).unwrap();
        let new = log.next_report(9).unwrap();
        assert_ne!(new.chain, old.chain);
        assert_eq!(new.records.len(), 2);
        check_chain(&mut ChainHead::new(new.chain), &new.records);
        let kept = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
        let kept: Vec<_> = kept.filter(|path| *path != file(&directory)).collect();
        assert!(fs::read_to_string(&kept[0]).unwrap().contains(&old.records[0].hash));
    }
}
