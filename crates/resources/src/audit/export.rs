//! Records for systems that collect logs elsewhere.

use chrono::{DateTime, Utc};
use cynode_domain::ids::ChainId;
use cynode_store::{AuditCall, AuditOutcome, AuditRecord, LOG_CHAIN, SealedRecord};
use serde_json::{Map, Value, json};

use super::{AuditError, AuditLog, parse_server};

/// A record as one JSON object.
#[derive(Debug, Clone, PartialEq)]
pub struct ExportedRecord {
    pub chain: ChainId,
    /// Its position in the chain. A receiver that gets a position twice got the record twice.
    pub seq: i64,
    /// When it was recorded; `None` if the record is unreadable.
    pub at: Option<DateTime<Utc>>,
    /// All of it, with its hash.
    pub fields: Value,
}

impl AuditLog {
    /// The chains that this process extends: its own, and that of the logs.
    pub fn extended_chains(&self) -> [ChainId; 2] {
        [self.lane.chain(), LOG_CHAIN]
    }

    /// Returns some `limit` records of a chain from position `from` on, in order.
    pub async fn export(
        &self,
        chain: ChainId,
        from: i64,
        limit: u32,
    ) -> Result<Vec<ExportedRecord>, AuditError> {
        let records = self
            .store
            .read(move |tx| {
                Box::pin(
                    async move { Ok::<_, AuditError>(tx.chain_records(chain, from, limit).await?) },
                )
            })
            .await?;
        Ok(records.into_iter().map(export).collect())
    }
}

fn export(sealed: SealedRecord) -> ExportedRecord {
    let SealedRecord { seal, record } = sealed;
    let at = record.as_ref().ok().map(AuditRecord::at);
    let (kind, content) = match record {
        Ok(AuditRecord::Call(call)) => ("tool_call", call_fields(&call)),
        Ok(AuditRecord::Outcome(outcome)) => ("tool_call_outcome", outcome_fields(&outcome)),
        Ok(AuditRecord::Log(row)) => {
            let columns = row.columns.into_iter().map(|(name, value)| (name.to_owned(), value));
            let mut fields: Map<String, Value> = columns.collect();
            fields.insert("id".to_owned(), json!(row.id));
            (row.log, Value::Object(fields))
        }
        Err(error) => ("unreadable", json!({ "error": error.to_string() })),
    };
    let fields = json!({
        "chain_id": seal.chain,
        "seq": seal.seq,
        "hash": hex::encode(&seal.hash),
        "at": at,
        "type": kind,
        "record": content,
    });
    ExportedRecord { chain: seal.chain, seq: seal.seq, at, fields }
}

fn call_fields(call: &AuditCall) -> Value {
    let (server, server_id) = parse_server(&call.server);
    json!({
        "id": call.id,
        "agent_type": call.caller.kind,
        "token_id": call.caller.token,
        "user_id": call.caller.user,
        "group_ids": call.caller.groups,
        "role_names": call.caller.roles,
        "project_id": call.binding.project,
        "task_id": call.binding.task,
        "run_id": call.binding.run,
        "job_id": call.binding.job,
        "tool_name": call.tool,
        "server": server,
        "server_id": server_id,
        "decision": call.decision,
        "stage": call.stage,
        "status": call.status,
        "error_type": call.error_type,
        "duration_ms": call.duration_ms,
        "origin": call.origin,
        "request_id": call.request_id,
    })
}

fn outcome_fields(outcome: &AuditOutcome) -> Value {
    json!({
        "call_id": outcome.call,
        "status": outcome.status,
        "error_type": outcome.error_type,
        "duration_ms": outcome.duration_ms,
    })
}
