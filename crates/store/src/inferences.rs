//! The record of calls to models: what was spent, and what was decided.
//!
//! Start at [`InferenceStore`]; money is set aside for a call in [`reserve`].

mod reserve;

use std::sync::LazyLock;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_domain::ids::{CredentialId, InferenceId, ProjectId, RunId, TaskId, ThreadId, UserId};
use cynode_domain::model::InferenceOutcome;
use cynode_domain::policy::{Effect, Principal};
use uuid::Uuid;

use crate::column::Row;
use crate::many::Inserts;
use crate::param::{Param, params};
use crate::quarantine::tables;
use crate::{Error, Tx};

pub use reserve::SpendingLimits;

/// One call to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InferenceCall {
    /// Its id.
    pub id: InferenceId,
    /// When it began.
    pub created_at: DateTime<Utc>,
    /// What it was for.
    pub purpose: String,
    /// Which agent asked; nothing for a person.
    pub agent: Option<Principal>,
    /// For whom.
    pub user: UserId,
    /// In which project.
    pub project: Option<ProjectId>,
    /// For which task.
    pub task: Option<TaskId>,
    /// In which run.
    pub run: Option<RunId>,
    /// In which conversation.
    pub thread: Option<ThreadId>,
    /// Finds the request in the logs.
    pub trace_id: String,
    /// The provider; empty if none was found.
    pub provider: String,
    /// The model.
    pub model: String,
    /// The hash of the question.
    pub prompt_hash: Option<String>,
    /// Tokens sent.
    pub input_tokens: Option<i64>,
    /// Tokens that came back.
    pub output_tokens: Option<i64>,
    /// The cost in millionths of a US dollar, if it is known.
    pub cost_micro_usd: Option<i64>,
    /// Whether that is an estimate.
    pub is_estimate: bool,
    /// How long it took.
    pub latency_ms: i64,
    /// How long it took until the first piece.
    pub first_ms: Option<i64>,
    /// What came of it.
    pub outcome: InferenceOutcome,
    /// What went wrong.
    pub error: Option<String>,
}

/// A decision about a call out. Metadata only: there is no place for questions or answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EgressDecision {
    /// The call.
    pub call: InferenceId,
    /// When it was decided.
    pub at: DateTime<Utc>,
    /// Which agent asked; nothing for a person.
    pub agent: Option<Principal>,
    /// For whom.
    pub user: UserId,
    /// For which task.
    pub task: Option<TaskId>,
    /// What was asked for: `provider/operation`.
    pub resource: String,
    /// Whether it was let through.
    pub decision: Effect,
    /// By what.
    pub reason: String,
    /// With which credential.
    pub credential: Option<CredentialId>,
    /// Finds the request in the logs.
    pub trace_id: String,
}

/// Which calls are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InferenceFilter {
    /// For this user.
    pub user: Option<UserId>,
    /// In this run.
    pub run: Option<RunId>,
    /// For this task.
    pub task: Option<TaskId>,
    /// For this purpose.
    pub purpose: Option<String>,
    /// Not before this moment.
    pub since: Option<DateTime<Utc>>,
}

/// Sums over calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InferenceSums {
    /// How many calls.
    pub calls: i64,
    /// Tokens sent.
    pub input_tokens: i64,
    /// Tokens that came back.
    pub output_tokens: i64,
    /// The known cost.
    pub cost_micro_usd: i64,
    /// How many calls with tokens have no known cost.
    pub unpriced: i64,
}

/// Calls to models and decisions about them: nothing changes but a call that is open, once, when it
/// ends.
#[async_trait]
pub trait InferenceStore {
    /// Records a call that ended. One that is on record already stays as it is, unless it was open.
    async fn inference_append(&mut self, call: &InferenceCall) -> Result<(), Error>;
    /// The call with this id.
    async fn inference_get(&mut self, id: InferenceId) -> Result<Option<InferenceCall>, Error>;
    /// Calls, newest first, older than `before`.
    async fn inference_list(
        &mut self,
        filter: &InferenceFilter,
        before: Option<InferenceId>,
        limit: u32,
    ) -> Result<Vec<InferenceCall>, Error>;
    /// Sums over all calls that the filter selects.
    async fn inference_sums(&mut self, filter: &InferenceFilter) -> Result<InferenceSums, Error>;
    /// Records a decision.
    async fn egress_decision_append(&mut self, decision: &EgressDecision) -> Result<(), Error>;
    /// The decisions about a call, in order.
    async fn egress_decision_list(
        &mut self,
        call: InferenceId,
    ) -> Result<Vec<EgressDecision>, Error>;
}

/// Which rows a filter selects; its parameters are the first five.
macro_rules! selected {
    () => {
        "($1 /*pg ::uuid */ IS NULL OR user_id = $1) AND ($2 /*pg ::uuid */ IS NULL OR run_id = $2)
         AND ($3 /*pg ::uuid */ IS NULL OR task_id = $3)
         AND ($4 /*pg ::text */ IS NULL OR purpose = $4)
         AND ($5 /*pg ::timestamptz */ IS NULL OR created_at >= $5)"
    };
}

/// The columns of a call, in the order of [`call_params`].
const CALL: &[&str] = &[
    "id",
    "created_at",
    "purpose",
    "agent",
    "user_id",
    "project_id",
    "task_id",
    "run_id",
    "thread_id",
    "trace_id",
    "provider",
    "model",
    "prompt_hash",
    "input_tokens",
    "output_tokens",
    "cost_micro_usd",
    "is_estimate",
    "latency_ms",
    "first_ms",
    "outcome",
    "error",
];

/// The columns of a decision, in the order of [`decision_params`].
const DECISION: &[&str] = &[
    "id",
    "created_at",
    "call_id",
    "agent",
    "user_id",
    "task_id",
    "resource",
    "decision",
    "reason",
    "credential_id",
    "trace_id",
];

/// Adds calls.
pub(crate) static CALL_INSERTS: LazyLock<Inserts> =
    LazyLock::new(|| Inserts::for_table("brain_calls", CALL).ending(ENDS));

/// What becomes of a call that was open when it ends.
const ENDS: &str = " ON CONFLICT (id) DO UPDATE SET input_tokens = excluded.input_tokens, \
    output_tokens = excluded.output_tokens, cost_micro_usd = excluded.cost_micro_usd, \
    is_estimate = excluded.is_estimate, latency_ms = excluded.latency_ms, \
    first_ms = excluded.first_ms, outcome = excluded.outcome, error = excluded.error \
    WHERE brain_calls.outcome = 'open'";

/// Adds decisions.
pub(crate) static DECISION_INSERTS: LazyLock<Inserts> =
    LazyLock::new(|| Inserts::for_table("egress_audit", DECISION));

/// A call as the values of its row.
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
        call.first_ms.into(),
        call.outcome.as_str().into(),
        call.error.clone().into(),
    ]
}

/// A decision as the values of its row.
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

#[async_trait]
impl InferenceStore for Tx {
    async fn inference_append(&mut self, call: &InferenceCall) -> Result<(), Error> {
        self.execute(CALL_INSERTS.one(), &call_params(call)).await.map(drop)
    }

    async fn inference_get(&mut self, id: InferenceId) -> Result<Option<InferenceCall>, Error> {
        let sql = "SELECT * FROM brain_calls WHERE id = $1";
        self.one(&tables::INFERENCES, sql, params![id], call).await
    }

    async fn inference_list(
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
        let mut params = wanted(filter).to_vec();
        params.extend_from_slice(params![before, limit]);
        self.page(&tables::INFERENCES, sql, &params, call).await
    }

    async fn inference_sums(&mut self, filter: &InferenceFilter) -> Result<InferenceSums, Error> {
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
        let row = self.row(sql, &wanted(filter)).await?;
        row.map_or(Ok(InferenceSums::default()), |row| {
            Ok(InferenceSums {
                calls: row.get("calls")?,
                input_tokens: row.get("input_tokens")?,
                output_tokens: row.get("output_tokens")?,
                cost_micro_usd: row.get("cost_micro_usd")?,
                unpriced: row.get("unpriced")?,
            })
        })
    }

    async fn egress_decision_append(&mut self, decision: &EgressDecision) -> Result<(), Error> {
        self.execute(DECISION_INSERTS.one(), &decision_params(decision)).await.map(drop)
    }

    async fn egress_decision_list(
        &mut self,
        call: InferenceId,
    ) -> Result<Vec<EgressDecision>, Error> {
        let sql = "SELECT * FROM egress_audit WHERE call_id = $1 ORDER BY id";
        self.list(&tables::EGRESS_DECISIONS, sql, params![call], decision).await
    }
}

fn wanted(filter: &InferenceFilter) -> [Param; 5] {
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
        first_ms: row.get("first_ms")?,
        outcome: row.word("outcome")?,
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
        decision: row.word("decision")?,
        reason: row.get("reason")?,
        credential: row.id_opt("credential_id")?,
        trace_id: row.get("trace_id")?,
    })
}
