//! Conversion of audit records to and from rows.

use cynode_audit::{
    AuditCall, AuditCaller, AuditOutcome, AuditRecord, ChainHead, ChainPosition, RecordSeal,
    SignedPosition, StoredCall,
};
use cynode_domain::ids::{ChainId, GroupId};
use serde_json::json;

use super::{SealedRecord, SignedHead};
use crate::Error;
use crate::agent_tokens::TokenBinding;
use cynode_sql::Param;
use cynode_sql::Row;

/// The columns of a call, in the order of [`call_params`].
pub(super) const CALL: &str = "id, chain_id, seq, created_at, agent_type, token_id, user_id, group_ids, role_names, \
    project_id, task_id, run_id, job_id, tool_name, server, decision, stage, status, \
    error_type, duration_ms, origin, request_id, prev_hash, hash";

/// The columns of an outcome, in the order of [`outcome_params`].
pub(super) const OUTCOME: &str =
    "call_id, chain_id, seq, status, error_type, duration_ms, recorded_at, prev_hash, hash";

pub(super) fn call_params(call: &AuditCall, seal: &RecordSeal) -> [Param; 24] {
    let (caller, bound) = (&call.caller, &call.binding);
    [
        Param::from(call.id),
        Param::from(seal.chain),
        Param::from(seal.seq),
        Param::from(call.created_at),
        Param::from(&caller.kind),
        Param::from(caller.token),
        Param::from(caller.user),
        Param::from(json!(caller.groups)),
        Param::from(json!(caller.roles)),
        Param::from(bound.project),
        Param::from(bound.task),
        Param::from(bound.run),
        Param::from(bound.job),
        Param::from(&call.tool),
        Param::from(&call.server),
        Param::from(call.decision),
        Param::from(call.stage),
        Param::from(call.status),
        Param::from(call.error_type.clone()),
        Param::from(call.duration_ms),
        Param::from(&call.origin),
        Param::from(&call.request_id),
        Param::from(seal.prev_hash.clone()),
        Param::from(seal.hash.clone()),
    ]
}

pub(super) fn outcome_params(outcome: &AuditOutcome, seal: &RecordSeal) -> [Param; 9] {
    [
        Param::from(outcome.call),
        Param::from(seal.chain),
        Param::from(seal.seq),
        Param::from(outcome.status),
        Param::from(outcome.error_type.clone()),
        Param::from(outcome.duration_ms),
        Param::from(outcome.recorded_at),
        Param::from(seal.prev_hash.clone()),
        Param::from(seal.hash.clone()),
    ]
}

pub(super) fn call(row: &Row) -> Result<AuditCall, Error> {
    Ok(AuditCall {
        id: row.id("id")?,
        created_at: row.get("created_at")?,
        caller: AuditCaller {
            kind: row.get("agent_type")?,
            token: row.id_opt("token_id")?,
            user: row.id_opt("user_id")?,
            groups: row.json::<Vec<GroupId>>("group_ids")?,
            roles: row.json("role_names")?,
        },
        binding: TokenBinding {
            project: row.id_opt("project_id")?,
            task: row.id_opt("task_id")?,
            run: row.id_opt("run_id")?,
            job: row.id_opt("job_id")?,
            session: None,
        },
        tool: row.get("tool_name")?,
        server: row.get("server")?,
        decision: row.keyword("decision")?,
        stage: row.keyword("stage")?,
        status: row.keyword("status")?,
        error_type: row.get("error_type")?,
        duration_ms: row.get("duration_ms")?,
        origin: row.get("origin")?,
        request_id: row.get("request_id")?,
    })
}

fn outcome(row: &Row) -> Result<AuditOutcome, Error> {
    Ok(AuditOutcome {
        call: row.id("call_id")?,
        status: row.keyword("status")?,
        error_type: row.get("error_type")?,
        duration_ms: row.get("duration_ms")?,
        recorded_at: row.get("recorded_at")?,
    })
}

/// Decodes a call with the columns of its outcome, prefixed `o_`.
pub(crate) fn stored_call(row: &Row) -> Result<StoredCall, Error> {
    let call = call(row)?;
    let outcome = match row.get::<Option<String>>("o_status")? {
        Some(status) => Some(AuditOutcome {
            call: call.id,
            status: status.parse().map_err(|error: cynode_domain::policy::UnknownWord| {
                Error::unreadable("status", error.to_string())
            })?,
            error_type: row.get("o_error_type")?,
            duration_ms: row.get("o_duration_ms")?,
            recorded_at: row.get("o_recorded_at")?,
        }),
        None => None,
    };
    Ok(StoredCall {
        call,
        chain: row.id("chain_id")?,
        seq: row.get("seq")?,
        hash: row.get("hash")?,
        outcome,
    })
}

fn seal(row: &Row) -> Result<RecordSeal, Error> {
    Ok(seal_in(row.id("chain_id")?, row))
}

/// The seal of a row that does not name its chain. A seal that cannot be decoded fits no record.
pub(super) fn seal_in(chain: ChainId, row: &Row) -> RecordSeal {
    RecordSeal {
        chain,
        seq: row.get("seq").unwrap_or(i64::MAX),
        prev_hash: row.get("prev_hash").unwrap_or_default(),
        hash: row.get("hash").unwrap_or_default(),
    }
}

pub(super) fn sealed_call(row: &Row) -> Result<SealedRecord, Error> {
    let record = call(row).map(|call| AuditRecord::Call(Box::new(call)));
    Ok(SealedRecord { seal: seal(row)?, record })
}

pub(super) fn sealed_outcome(row: &Row) -> Result<SealedRecord, Error> {
    Ok(SealedRecord { seal: seal(row)?, record: outcome(row).map(AuditRecord::Outcome) })
}

pub(super) fn head(row: &Row) -> Result<SignedHead, Error> {
    let head = ChainHead {
        chain: row.id("chain_id")?,
        seq: row.get("seq")?,
        hash: row.get("hash")?,
        open_from: row.get("open_from")?,
    };
    Ok((head, row.get("signature")?))
}

pub(super) fn anchor(row: &Row) -> Result<SignedPosition, Error> {
    let position =
        ChainPosition { chain: row.id("chain_id")?, seq: row.get("seq")?, hash: row.get("hash")? };
    Ok(SignedPosition { position, signature: row.get("signature")? })
}
