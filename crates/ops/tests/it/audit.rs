//! The record of tool calls.

use std::time::Duration;

use cynode_domain::policy::{CallStatus, Effect, ErrorKind, Principal, Stage};
use cynode_resources::Caller;
use cynode_resources::{
    audit::AuditError, audit::AuditLog, audit::ToolCallOutcome, audit::ToolCallRecord,
};
use cynode_store::LOG_CHAIN;
use cynode_testkit::query;
use cynode_wire::audit::{AuditQuery, VerifyView};
use cynode_wire::settings::SetSetting;
use serde_json::json;

use crate::engines::on_each_engine;
use crate::world::World;

on_each_engine! {
    a_call_is_on_record_before_it_is_made_and_with_its_end_afterwards,
    a_refused_call_is_one_record_with_its_stage_and_reason,
    an_odd_tool_name_is_recorded_without_its_control_characters,
    calls_of_a_process_that_died_are_interrupted_when_it_comes_back,
    a_user_sees_their_own_calls_and_an_administrator_all,
    pages_of_calls_join_without_gaps_or_repeats,
    records_are_kept_as_long_as_the_setting_says_and_the_chain_stays_whole,
    retention_does_not_cover_up_a_change,
}

fn record(caller: &Caller) -> ToolCallRecord {
    ToolCallRecord {
        agent: Some(Principal::PM),
        token: None,
        user: Some(caller.user),
        groups: vec![],
        roles: vec!["user".to_owned()],
        project: None,
        task: None,
        run: None,
        job: None,
        tool: "db.task.get".to_owned(),
        server: "builtin".to_owned(),
        server_id: None,
        stage: Stage::Invoke,
        error_type: None,
        origin: "gateway".to_owned(),
        request_id: "request".to_owned(),
    }
}

fn outcome(error_type: Option<ErrorKind>) -> ToolCallOutcome {
    ToolCallOutcome { error_type, duration_ms: 5 }
}

async fn newest(log: &AuditLog, caller: &Caller) -> cynode_wire::audit::CallView {
    log.list(caller, AuditQuery::default()).await.unwrap().items.remove(0)
}

async fn a_call_is_on_record_before_it_is_made_and_with_its_end_afterwards() {
    let world = World::new().await;
    let log = world.audit().await;
    // Finer than any database keeps.
    world.clock.advance(Duration::from_nanos(1));

    let ticket = log.begin(record(&world.bob)).await.unwrap();
    let before = newest(&log, &world.bob).await;
    log.finish(ticket, outcome(Some(ErrorKind::Timeout))).await.unwrap();
    let after = log.get(&world.bob, before.id).await.unwrap();

    assert_eq!((before.decision, before.status), (Effect::Allow, CallStatus::Pending));
    assert_eq!((after.status, after.error_type.as_deref()), (CallStatus::Error, Some("timeout")));
    assert_eq!(after.duration_ms, Some(5));
    assert!(log.verify(&world.admin, None).await.unwrap().intact);
}

async fn a_refused_call_is_one_record_with_its_stage_and_reason() {
    let world = World::new().await;
    let log = world.audit().await;
    let refused = ToolCallRecord {
        agent: None,
        stage: Stage::Authenticate,
        error_type: Some(ErrorKind::InvalidAgentToken),
        ..record(&world.bob)
    };

    log.record_denial(refused).await.unwrap();

    let seen = newest(&log, &world.admin).await;
    assert_eq!((seen.decision, seen.stage), (Effect::Deny, Stage::Authenticate));
    assert_eq!((seen.status, seen.agent_type.as_str()), (CallStatus::Error, "unknown"));
    assert_eq!(seen.error_type.as_deref(), Some("invalid_agent_token"));
    assert_eq!(call_records(&log.verify(&world.admin, None).await.unwrap()), 1);
}

async fn an_odd_tool_name_is_recorded_without_its_control_characters() {
    let world = World::new().await;
    let log = world.audit().await;

    let odd = format!("a\0b\x1b[2J{}", "é".repeat(300));
    log.record_denial(ToolCallRecord { tool: odd, ..record(&world.bob) }).await.unwrap();

    let seen = newest(&log, &world.bob).await.tool_name;
    assert!(seen.starts_with("a\u{fffd}b\u{fffd}[2Jé") && seen.len() <= 256, "{seen:?}");
}

async fn calls_of_a_process_that_died_are_interrupted_when_it_comes_back() {
    let world = World::new().await;
    let died = world.audit().await;
    let ticket = died.begin(record(&world.bob)).await.unwrap();
    let call = ticket.call();
    // A process that is killed runs no destructors.
    std::mem::forget(ticket);
    drop(died);

    let log = world.audit().await;

    let seen = log.get(&world.bob, call).await.unwrap();
    assert_eq!((seen.status, seen.error_type.as_deref()), (CallStatus::Error, Some("interrupted")));
    let view = log.verify(&world.admin, None).await.unwrap();
    assert_eq!((view.intact, view.chains.len(), call_records(&view)), (true, 2, 2));
}

async fn a_user_sees_their_own_calls_and_an_administrator_all() {
    let world = World::new().await;
    let log = world.audit().await;
    for caller in [&world.bob, &world.admin, &world.bob] {
        log.record_denial(record(caller)).await.unwrap();
        world.clock.advance(Duration::from_secs(1));
    }

    let all = log.list(&world.admin, AuditQuery::default()).await.unwrap();
    let own = log.list(&world.bob, AuditQuery::default()).await.unwrap();
    let of_admin = AuditQuery { user_id: Some(world.admin.user), ..AuditQuery::default() };

    assert_eq!((all.items.len(), own.items.len()), (3, 2));
    assert!(log.list(&world.bob, of_admin.clone()).await.unwrap().items.is_empty());
    assert_eq!(log.list(&world.admin, of_admin).await.unwrap().items.len(), 1);
    let hidden = log.get(&world.bob, all.items[1].id).await;
    assert!(matches!(hidden, Err(AuditError::NotFound)));
    assert!(matches!(log.verify(&world.bob, None).await, Err(AuditError::NotAdmin)));
}

async fn pages_of_calls_join_without_gaps_or_repeats() {
    let world = World::new().await;
    let log = world.audit().await;
    for number in 0..7 {
        log.record_denial(record(&world.bob)).await.unwrap();
        // Some share a moment, some do not.
        world.clock.advance(Duration::from_millis(number % 2));
    }
    let mut query = AuditQuery { limit: Some(3), ..AuditQuery::default() };
    let mut seen = vec![];
    loop {
        let page = log.list(&world.bob, query.clone()).await.unwrap();
        seen.extend(page.items.into_iter().map(|call| call.id));
        query.cursor = page.next_cursor;
        if query.cursor.is_none() {
            break;
        }
    }

    let all = log.list(&world.bob, AuditQuery::default()).await.unwrap();
    assert_eq!(seen, all.items.into_iter().map(|call| call.id).collect::<Vec<_>>());
    let odd = AuditQuery { cursor: Some("yesterday".to_owned()), ..AuditQuery::default() };
    assert!(matches!(log.list(&world.bob, odd).await, Err(AuditError::Page(_))));
}

/// Retention does not replace a forged anchor by a signed one, and does not delete changed records.
async fn retention_does_not_cover_up_a_change() {
    let changes = [
        "INSERT INTO mcp_audit_anchors (chain_id, seq, hash, created_at)
         SELECT chain_id, seq, hash, created_at FROM mcp_tool_call_audit_log WHERE seq = 2;
         DELETE FROM mcp_tool_call_audit_log WHERE seq <= 2",
        "UPDATE mcp_tool_call_audit_log SET tool_name = 'help.get' WHERE seq = 1",
        "DELETE FROM mcp_tool_call_audit_log WHERE seq = 1",
    ];
    for change in changes {
        let world = World::new().await;
        let log = world.audit().await;
        for _ in 0..4 {
            log.record_denial(record(&world.bob)).await.unwrap();
        }
        let body = SetSetting { value: json!(1), expected_version: None, reason: None };
        world.settings.set(&world.admin, "mcp.audit.retention_days", body).await.unwrap();
        query(&world.database.url, change).await;
        let before = log.verify(&world.admin, None).await.unwrap();
        assert!(!before.intact, "{change}");
        world.clock.advance(Duration::from_hours(48));

        assert_eq!(log.apply_retention().await.unwrap(), 0, "{change}");

        assert_eq!(log.verify(&world.admin, None).await.unwrap().chains, before.chains);
    }
}

/// Records of tool calls; the logs have a chain of their own.
fn call_records(view: &VerifyView) -> u64 {
    let chains = view.chains.iter().filter(|chain| chain.chain_id != LOG_CHAIN);
    chains.map(|chain| chain.records).sum()
}

async fn records_are_kept_as_long_as_the_setting_says_and_the_chain_stays_whole() {
    let world = World::new().await;
    let log = world.audit().await;
    let old = log.begin(record(&world.bob)).await.unwrap();
    log.finish(old, outcome(None)).await.unwrap();
    let open = log.begin(record(&world.bob)).await.unwrap();
    world.clock.advance(Duration::from_hours(48));
    log.record_denial(record(&world.bob)).await.unwrap();
    assert_eq!(log.apply_retention().await.unwrap(), 0, "for good without a setting");

    let body = SetSetting { value: json!(1), expected_version: None, reason: None };
    world.settings.set(&world.admin, "mcp.audit.retention_days", body).await.unwrap();

    assert_eq!(log.apply_retention().await.unwrap(), 2, "not the call that goes on");
    assert!(log.verify(&world.admin, None).await.unwrap().intact);
    log.finish(open, outcome(None)).await.unwrap();
    assert!(log.verify(&world.admin, None).await.unwrap().intact);
    assert_eq!(log.list(&world.bob, AuditQuery::default()).await.unwrap().items.len(), 2);
}
