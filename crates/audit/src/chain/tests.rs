//! Tests of the chain.

use chrono::DateTime;
use cynode_domain::agent::TokenBinding;
use cynode_domain::ids::{CallId, GroupId, UserId};
use cynode_domain::policy::{CallStatus, Effect, Stage};
use proptest::prelude::*;

use super::*;
use crate::AuditCaller;

fn id<T: From<Uuid>>(number: u128) -> T {
    T::from(Uuid::from_u128(number))
}

fn call() -> AuditCall {
    AuditCall {
        id: id(1),
        created_at: DateTime::UNIX_EPOCH,
        caller: AuditCaller { kind: "pm".to_owned(), ..AuditCaller::default() },
        binding: TokenBinding::default(),
        tool: "db.task.get".to_owned(),
        server: "builtin".to_owned(),
        decision: Effect::Allow,
        stage: Stage::Invoke,
        status: CallStatus::Pending,
        error_type: None,
        duration_ms: None,
        origin: "gateway".to_owned(),
        request_id: "r".to_owned(),
    }
}

fn hash(call: AuditCall) -> Vec<u8> {
    ChainHead::new(id(9)).seal(&AuditRecord::Call(Box::new(call))).hash
}

#[test]
fn every_field_of_a_call_is_under_its_hash() {
    let edits: &[fn(&mut AuditCall)] = &[
        |call| call.id = CallId::from(Uuid::from_u128(2)),
        |call| call.created_at = DateTime::from_timestamp_micros(1).unwrap(),
        |call| call.caller.kind = "pa".to_owned(),
        |call| call.caller.token = Some(id(1)),
        |call| call.caller.user = Some(UserId::from(Uuid::nil())),
        |call| call.caller.groups = vec![GroupId::from(Uuid::nil())],
        |call| call.caller.roles = vec![String::new()],
        |call| call.binding.project = Some(id(1)),
        |call| call.binding.task = Some(id(1)),
        |call| call.binding.run = Some(id(1)),
        |call| call.binding.job = Some(id(1)),
        |call| call.tool = "db.task.ge".to_owned(),
        |call| call.server = "files".to_owned(),
        |call| call.decision = Effect::Deny,
        |call| call.stage = Stage::Rules,
        |call| call.status = CallStatus::Error,
        |call| call.error_type = Some(String::new()),
        |call| call.duration_ms = Some(0),
        |call| call.origin = "node".to_owned(),
        |call| call.request_id = "s".to_owned(),
    ];
    let mut hashes = vec![hash(call())];
    for edit in edits {
        let mut edited = call();
        edit(&mut edited);
        hashes.push(hash(edited));
    }

    let all = hashes.len();
    hashes.sort();
    hashes.dedup();
    assert_eq!(hashes.len(), all);
}

#[test]
fn the_same_record_in_another_place_or_chain_has_another_hash() {
    let record = AuditRecord::Call(Box::new(call()));
    let (mut one, mut other) = (ChainHead::new(id(1)), ChainHead::new(id(2)));

    let first = one.seal(&record);
    let second = one.seal(&record);
    let elsewhere = other.seal(&record);

    assert_eq!(second.prev_hash, first.hash);
    assert!(first.matches(&record) && second.matches(&record) && elsewhere.matches(&record));
    assert_ne!(first.hash, second.hash);
    assert_ne!(first.hash, elsewhere.hash);
}

proptest! {
    #[test]
    fn text_that_moves_between_neighbouring_fields_changes_the_hash(text in "[ab]{1,6}", cut in 0_usize..6, other in 0_usize..6) {
        let split = |at: usize| {
            let (tool, server) = text.split_at(at.min(text.len()));
            AuditCall { tool: tool.to_owned(), server: server.to_owned(), ..call() }
        };
        let (one, two) = (split(cut), split(other));
        prop_assert_eq!(one == two, hash(one) == hash(two));
    }
}
