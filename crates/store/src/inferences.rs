//! Records of model calls: usage, cost and egress decisions.
//!
//! Budget is reserved for a call in [`reserve`].

mod reserve;

use std::sync::LazyLock;

use chrono::{DateTime, Utc};
use cynode_domain::ids::{CredentialId, InferenceId, ProjectId, RunId, TaskId, ThreadId, UserId};
use cynode_domain::model::InferenceOutcome;
use cynode_domain::policy::{Effect, Principal};
use uuid::Uuid;

use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::InsertStatements;
use cynode_sql::Row;
use cynode_sql::{Param, params};

pub use reserve::SpendingLimits;

/// One model call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InferenceCall {
    pub id: InferenceId,
    pub created_at: DateTime<Utc>,
    pub purpose: String,
    /// The calling agent; `None` for a person.
    pub agent: Option<Principal>,
    pub user: UserId,
    pub project: Option<ProjectId>,
    pub task: Option<TaskId>,
    pub run: Option<RunId>,
    pub thread: Option<ThreadId>,
    /// Correlates the request with the logs.
    pub trace_id: String,
    /// Empty if no provider was found.
    pub provider: String,
    pub model: String,
    pub prompt_hash: Option<String>,
    pub input_tokens: Option<i64>,
    pub output_tokens: Option<i64>,
    /// In millionths of a US dollar; `None` if unknown.
    pub cost_micro_usd: Option<i64>,
    /// Whether the cost is an estimate.
    pub is_estimate: bool,
    pub latency_ms: i64,
    /// Time to the first chunk.
    pub first_chunk_ms: Option<i64>,
    pub outcome: InferenceOutcome,
    pub error: Option<String>,
}

/// The egress decision on a model call. Metadata only: neither prompts nor answers are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EgressDecision {
    pub call: InferenceId,
    pub at: DateTime<Utc>,
    /// The calling agent; `None` for a person.
    pub agent: Option<Principal>,
    pub user: UserId,
    pub task: Option<TaskId>,
    /// `provider/operation`.
    pub resource: String,
    /// Whether the call was allowed.
    pub decision: Effect,
    /// The rule or limit that decided.
    pub reason: String,
    pub credential: Option<CredentialId>,
    /// Correlates the request with the logs.
    pub trace_id: String,
}

/// Selects model calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InferenceFilter {
    pub user: Option<UserId>,
    pub run: Option<RunId>,
    pub task: Option<TaskId>,
    pub purpose: Option<String>,
    /// Inclusive.
    pub since: Option<DateTime<Utc>>,
}

/// Totals of model calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InferenceSums {
    pub calls: i64,
    pub input_tokens: i64,
    pub output_tokens: i64,
    /// The sum of known costs.
    pub cost_micro_usd: i64,
    /// Calls with tokens but without a known cost.
    pub unpriced: i64,
}

/// The condition of a filter; its parameters are the first five.
macro_rules! selected {
    () => {
        "($1 /*pg ::uuid */ IS NULL OR user_id = $1) AND ($2 /*pg ::uuid */ IS NULL OR run_id = $2)
         AND ($3 /*pg ::uuid */ IS NULL OR task_id = $3)
         AND ($4 /*pg ::text */ IS NULL OR purpose = $4)
         AND ($5 /*pg ::timestamptz */ IS NULL OR created_at >= $5)"
    };
}

/// The columns of a call, in the order of [`call_params`].
const CALL: &str = "id, created_at, purpose, agent, user_id, project_id, task_id, run_id, thread_id, \
    trace_id, provider, model, prompt_hash, input_tokens, output_tokens, cost_micro_usd, \
    is_estimate, latency_ms, first_ms, outcome, error";

/// The columns of a decision, in the order of [`decision_params`].
const DECISION: &str = "id, created_at, call_id, agent, user_id, task_id, resource, decision, reason, \
    credential_id, trace_id";

pub(crate) static CALL_INSERTS: LazyLock<InsertStatements> = LazyLock::new(|| {
    InsertStatements::for_table("brain_calls", CALL).with_suffix(COMPLETE_OPEN_CALL)
});

/// Completes a call that is recorded as open.
const COMPLETE_OPEN_CALL: &str = " ON CONFLICT (id) DO UPDATE SET input_tokens = excluded.input_tokens, \
    output_tokens = excluded.output_tokens, cost_micro_usd = excluded.cost_micro_usd, \
    is_estimate = excluded.is_estimate, latency_ms = excluded.latency_ms, \
    first_ms = excluded.first_ms, outcome = excluded.outcome, error = excluded.error \
    WHERE brain_calls.outcome = 'open'";

pub(crate) static DECISION_INSERTS: LazyLock<InsertStatements> =
    LazyLock::new(|| InsertStatements::for_table("egress_audit", DECISION));

/// The values of a call's row.
pub(crate) fn call_params(call: &InferenceCall) -> [Param; 21] {
    [
        call.id.into(),
        call.created_at.into(),
        (&call.purpose).into(),
        call.agent.map(Principal::as_str).into(),
        call.user.into(),
        call.project.into(),
        call.task.into(),
        call.run.into(),
        call.thread.into(),
        (&call.trace_id).into(),
        (&call.provider).into(),
        (&call.model).into(),
        call.prompt_hash.clone().into(),
        call.input_tokens.into(),
        call.output_tokens.into(),
        call.cost_micro_usd.into(),
        call.is_estimate.into(),
        call.latency_ms.into(),
        call.first_chunk_ms.into(),
        call.outcome.as_str().into(),
        call.error.clone().into(),
    ]
}

/// The values of a decision's row.
pub(crate) fn decision_params(decision: &EgressDecision) -> [Param; 11] {
    [
        Uuid::now_v7().into(),
        decision.at.into(),
        decision.call.into(),
        decision.agent.map(Principal::as_str).into(),
        decision.user.into(),
        decision.task.into(),
        (&decision.resource).into(),
        decision.decision.into(),
        (&decision.reason).into(),
        decision.credential.into(),
        (&decision.trace_id).into(),
    ]
}

/// Model calls and egress decisions: append-only, except that an open call is completed once.
impl Tx {
    /// Records a call that ended. A recorded call is not changed unless it is open.
    pub async fn inference_append(&mut self, call: &InferenceCall) -> Result<(), Error> {
        self.execute(CALL_INSERTS.one(), &call_params(call)).await.map(drop)
    }

    pub async fn inference_get(&mut self, id: InferenceId) -> Result<Option<InferenceCall>, Error> {
        let sql = "SELECT * FROM brain_calls WHERE id = $1";
        self.one(&tables::INFERENCES, sql, params![id], call).await
    }

    /// Lists calls, newest first, older than `before`.
    pub async fn inference_list(
        &mut self,
        filter: &InferenceFilter,
        before: Option<InferenceId>,
        limit: u32,
    ) -> Result<Vec<InferenceCall>, Error> {
        let sql = concat!(
            "SELECT * FROM brain_calls WHERE ",
            selected!(),
            " AND ($6 /*pg ::uuid */ IS NULL OR id < $6) ORDER BY id DESC LIMIT $7"
        );
        let mut params = filter_params(filter).to_vec();
        params.extend_from_slice(params![before, limit]);
        self.page(&tables::INFERENCES, sql, &params, call).await
    }

    /// Sums over all calls that match the filter.
    pub async fn inference_sums(
        &mut self,
        filter: &InferenceFilter,
    ) -> Result<InferenceSums, Error> {
        let sql = concat!(
            "SELECT count(*) AS calls,
             CAST(coalesce(sum(input_tokens), 0) AS bigint) AS input_tokens,
             CAST(coalesce(sum(output_tokens), 0) AS bigint) AS output_tokens,
             CAST(coalesce(sum(cost_micro_usd), 0) AS bigint) AS cost_micro_usd,
             CAST(coalesce(sum(CASE WHEN cost_micro_usd IS NULL
                 AND outcome IN ('success', 'canceled') THEN 1 ELSE 0 END), 0) AS bigint)
                 AS unpriced
             FROM brain_calls WHERE ",
            selected!()
        );
        let row = self.row(sql, &filter_params(filter)).await?;
        row.map_or(Ok(InferenceSums::default()), |row| sums(&row))
    }

    pub async fn egress_decision_append(&mut self, decision: &EgressDecision) -> Result<(), Error> {
        self.execute(DECISION_INSERTS.one(), &decision_params(decision)).await.map(drop)
    }

    /// Lists the decisions on a call, in order.
    pub async fn egress_decision_list(
        &mut self,
        call: InferenceId,
    ) -> Result<Vec<EgressDecision>, Error> {
        let sql = "SELECT * FROM egress_audit WHERE call_id = $1 ORDER BY id";
        self.list(&tables::EGRESS_DECISIONS, sql, params![call], decision).await
    }
}

fn filter_params(filter: &InferenceFilter) -> [Param; 5] {
    [
        filter.user.into(),
        filter.run.into(),
        filter.task.into(),
        filter.purpose.clone().into(),
        filter.since.into(),
    ]
}

fn agent(row: &Row) -> Result<Option<Principal>, Error> {
    let word = row.get::<Option<String>>("agent")?;
    let parse = |word: String| word.parse();
    word.map(parse).transpose().map_err(|error: cynode_domain::policy::UnknownWord| {
        Error::unreadable("agent", error.to_string())
    })
}

pub(crate) fn sums(row: &Row) -> Result<InferenceSums, Error> {
    Ok(InferenceSums {
        calls: row.get("calls")?,
        input_tokens: row.get("input_tokens")?,
        output_tokens: row.get("output_tokens")?,
        cost_micro_usd: row.get("cost_micro_usd")?,
        unpriced: row.get("unpriced")?,
    })
}

pub(crate) fn call(row: &Row) -> Result<InferenceCall, Error> {
    Ok(InferenceCall {
        id: row.id("id")?,
        created_at: row.get("created_at")?,
        purpose: row.get("purpose")?,
        agent: agent(row)?,
        user: row.id("user_id")?,
        project: row.id_opt("project_id")?,
        task: row.id_opt("task_id")?,
        run: row.id_opt("run_id")?,
        thread: row.id_opt("thread_id")?,
        trace_id: row.get("trace_id")?,
        provider: row.get("provider")?,
        model: row.get("model")?,
        prompt_hash: row.get("prompt_hash")?,
        input_tokens: row.get("input_tokens")?,
        output_tokens: row.get("output_tokens")?,
        cost_micro_usd: row.get("cost_micro_usd")?,
        is_estimate: row.get("is_estimate")?,
        latency_ms: row.get("latency_ms")?,
        first_chunk_ms: row.get("first_ms")?,
        outcome: row.keyword("outcome")?,
        error: row.get("error")?,
    })
}

pub(crate) fn decision(row: &Row) -> Result<EgressDecision, Error> {
    Ok(EgressDecision {
        call: row.id("call_id")?,
        at: row.get("created_at")?,
        agent: agent(row)?,
        user: row.id("user_id")?,
        task: row.id_opt("task_id")?,
        resource: row.get("resource")?,
        decision: row.keyword("decision")?,
        reason: row.get("reason")?,
        credential: row.id_opt("credential_id")?,
        trace_id: row.get("trace_id")?,
    })
}
