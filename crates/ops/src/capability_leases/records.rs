//! Checks audit records of a worker node.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use chrono::{DateTime, TimeDelta, Utc};
use cynode_domain::ids::{CapabilityLeaseId, TokenId};
use cynode_domain::policy::{CallStatus, Effect, Stage};
use cynode_lease::LeaseClaims;
use cynode_store::{AuditCall, CallRecord, EdgeSealedRecord, Tx};
use cynode_wire::capability_leases::{
    EDGE_ORIGIN_PREFIX, EdgeRecord, MAX_RECORD_BYTES, MAX_RECORDS,
};

use super::{LeaseServiceError, stored_claims};

/// The longest text in a record.
const MAX_TEXT_BYTES: usize = 256;
/// How far the clock of a node may differ.
const CLOCK_DIFFERENCE: TimeDelta = TimeDelta::minutes(5);
/// The caller of a call without a valid lease.
const UNKNOWN_CALLER: &str = "unknown";

/// The records in the form of the audit log.
pub(super) fn parse_records(
    records: Vec<EdgeRecord>,
    now: DateTime<Utc>,
) -> Result<Vec<(EdgeSealedRecord, CallRecord)>, LeaseServiceError> {
    let refuse = |reason: String| LeaseServiceError::RecordsRefused(reason);
    if records.len() > MAX_RECORDS {
        return Err(refuse(format!("more than {MAX_RECORDS} in one request")));
    }
    let parse = |EdgeRecord { seq, hash, record }: EdgeRecord| {
        if record.to_string().len() > MAX_RECORD_BYTES {
            return Err(refuse(format!("record {seq} is too long")));
        }
        let hash = hex::decode(&hash).map_err(|_| refuse(format!("record {seq} has no hash")))?;
        let parsed: CallRecord = serde_json::from_value(record)
            .map_err(|error| refuse(format!("record {seq} cannot be read: {error}")))?;
        check_content(&parsed, now).map_err(|reason| refuse(format!("record {seq}: {reason}")))?;
        let record = parsed.clone().into();
        Ok((EdgeSealedRecord { seq, hash, record }, parsed))
    };
    records.into_iter().map(parse).collect()
}

/// Refuses records about callers whose lease was not issued for this node, or that name another caller than their lease.
pub(super) async fn check_callers(
    tx: &mut Tx,
    node_key: &str,
    slug: &str,
    records: &[(EdgeSealedRecord, CallRecord)],
) -> Result<(), LeaseServiceError> {
    let mut leases: HashMap<TokenId, Option<LeaseClaims>> = HashMap::new();
    for (sealed, record) in records {
        let CallRecord::Call(call) = record else { continue };
        let refuse = |reason: &str| {
            Err(LeaseServiceError::RecordsRefused(format!("record {}: {reason}", sealed.seq)))
        };
        if call.origin.strip_prefix(EDGE_ORIGIN_PREFIX) != Some(slug) {
            return refuse("it has another origin");
        }
        let Some(token) = call.caller.token else {
            if is_anonymous(call) {
                continue;
            }
            return refuse("a caller without a lease is unknown, and denied");
        };
        let claims = match leases.entry(token) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let id = CapabilityLeaseId::from(token.as_uuid());
                let lease = tx.capability_lease_get(id).await?;
                let claims = lease.as_ref().and_then(stored_claims);
                // Not by the row of the node: one that was removed and joined again is another row.
                unknown.insert(claims.filter(|claims| claims.node_key == node_key))
            }
        };
        let Some(claims) = claims else {
            return refuse("its lease was not issued for this node");
        };
        if !is_caller_of(call, claims) {
            return refuse("it does not name the caller of its lease");
        }
        if call.decision == Effect::Allow && !is_permitted(call, claims) {
            return refuse("its lease does not permit it");
        }
    }
    Ok(())
}

/// Refuses texts that the log cannot store, and times in the future, which retention would never reach.
fn check_content(record: &CallRecord, now: DateTime<Utc>) -> Result<(), &'static str> {
    let (texts, at) = match record {
        CallRecord::Call(call) => {
            let error = call.error_type.as_deref().unwrap_or_default();
            let texts = vec![&*call.tool, &*call.server, &*call.origin, &*call.request_id, error];
            (texts, call.created_at)
        }
        CallRecord::Outcome(outcome) => {
            (vec![outcome.error_type.as_deref().unwrap_or_default()], outcome.recorded_at)
        }
    };
    if texts.iter().any(|text| text.len() > MAX_TEXT_BYTES || text.contains('\0')) {
        return Err("it has a text that is too long, or not one");
    }
    if at > now + CLOCK_DIFFERENCE {
        return Err("it is in the future: set the clock of the node");
    }
    Ok(())
}

/// Whether an allowed call is one that the lease permitted at that time.
fn is_permitted(call: &AuditCall, claims: &LeaseClaims) -> bool {
    let valid = (claims.issued_at - CLOCK_DIFFERENCE)..(claims.expires_at + CLOCK_DIFFERENCE);
    claims.tools.contains(&call.tool)
        && call.server == "builtin"
        && call.stage == Stage::Invoke
        && call.status == CallStatus::Pending
        && call.error_type.is_none()
        && valid.contains(&call.created_at)
}

fn is_anonymous(call: &AuditCall) -> bool {
    let caller = &call.caller;
    let binding = &call.binding;
    call.decision == Effect::Deny
        && caller.kind == UNKNOWN_CALLER
        && caller.user.is_none()
        && caller.groups.is_empty()
        && caller.roles.is_empty()
        && (binding.project, binding.task, binding.run, binding.job) == (None, None, None, None)
}

fn is_caller_of(call: &AuditCall, claims: &LeaseClaims) -> bool {
    let (caller, binding) = (&call.caller, &call.binding);
    caller.kind == claims.caller.as_str()
        && caller.user == Some(claims.user)
        && caller.groups == claims.groups
        && caller.roles == claims.roles
        && binding.project == Some(claims.project)
        && binding.task == Some(claims.task)
        && binding.run.is_none()
        && binding.job == Some(claims.sandbox)
}
