//! What verifications found.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_domain::finding::{FindingAuthor, FindingStatus, Severity};
use cynode_domain::ids::{FindingId, JobId, RunId, TaskId, TokenId, UserId};
use cynode_domain::verification::VerificationKey;

use crate::column::Row;
use crate::param::params;
use crate::quarantine::tables;
use crate::{Error, Tx};

/// What a finding is about within its task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FindingPlace {
    /// The run.
    pub run: Option<RunId>,
    /// The job.
    pub job: Option<JobId>,
    /// The step of the plan, from 0.
    pub step_index: Option<u32>,
}

/// Who found something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finder {
    /// A rule, an agent or a person.
    pub author: FindingAuthor,
    /// With which token.
    pub token: Option<TokenId>,
    /// For which user.
    pub user: UserId,
}

/// A finding. It is never changed: a later one takes its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The finding's id.
    pub id: FindingId,
    /// The task that was verified.
    pub task: TaskId,
    /// What of it.
    pub place: FindingPlace,
    /// What it says about the work.
    pub status: FindingStatus,
    /// How much it matters.
    pub severity: Severity,
    /// What was found.
    pub message: String,
    /// Where: a file, a line, a criterion.
    pub location: Option<String>,
    /// What to do about it.
    pub suggestion: Option<String>,
    /// Who found it.
    pub by: Finder,
    /// The verification whose verdict it decides; none for every other finding.
    pub verification: Option<VerificationKey>,
    /// When.
    pub created_at: DateTime<Utc>,
}

/// Findings.
#[async_trait]
pub trait FindingStore {
    /// Adds a finding.
    async fn finding_insert(&mut self, finding: &Finding) -> Result<(), Error>;
    /// The finding with this id.
    async fn finding_get(&mut self, id: FindingId) -> Result<Option<Finding>, Error>;
    /// Findings of a task, newest first.
    async fn finding_list(
        &mut self,
        task: TaskId,
        before: Option<FindingId>,
        limit: u32,
    ) -> Result<Vec<Finding>, Error>;
    /// How many findings a task has.
    async fn finding_count(&mut self, task: TaskId) -> Result<i64, Error>;
}

#[async_trait]
impl FindingStore for Tx {
    async fn finding_insert(&mut self, finding: &Finding) -> Result<(), Error> {
        let sql = "INSERT INTO verification_findings (id, task_id, run_id, job_id, step_index,
                   status, severity, message, location, suggestion, agent_type, token_id, user_id,
                   created_at, verification)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)";
        let params = params![
            finding.id,
            finding.task,
            finding.place.run,
            finding.place.job,
            finding.place.step_index,
            finding.status.as_str(),
            finding.severity.as_str(),
            &finding.message,
            finding.location.clone(),
            finding.suggestion.clone(),
            finding.by.author.as_str(),
            finding.by.token,
            finding.by.user,
            finding.created_at,
            finding.verification.map(|key| key.to_string()),
        ];
        self.execute(sql, params).await.map(drop)
    }

    async fn finding_get(&mut self, id: FindingId) -> Result<Option<Finding>, Error> {
        let sql = "SELECT * FROM verification_findings WHERE id = $1";
        self.one(&tables::FINDINGS, sql, params![id], finding).await
    }

    async fn finding_list(
        &mut self,
        task: TaskId,
        before: Option<FindingId>,
        limit: u32,
    ) -> Result<Vec<Finding>, Error> {
        let sql = "SELECT * FROM verification_findings WHERE task_id = $1
                   AND ($2 /*pg ::uuid */ IS NULL OR id < $2) ORDER BY id DESC LIMIT $3";
        self.page(&tables::FINDINGS, sql, params![task, before, limit], finding).await
    }

    async fn finding_count(&mut self, task: TaskId) -> Result<i64, Error> {
        let sql = "SELECT count(*) AS findings FROM verification_findings WHERE task_id = $1";
        let row = self.row(sql, params![task]).await?;
        row.map_or(Ok(0), |row| row.get("findings"))
    }
}

pub(crate) fn finding(row: &Row) -> Result<Finding, Error> {
    let step_index: Option<i64> = row.get("step_index")?;
    let (author, token) = (row.word("agent_type")?, row.id_opt("token_id")?);
    // Findings of rules were once written in the name of an analyst. An analyst has a token.
    let is_rule = author == FindingAuthor::Pa && token.is_none();
    let author = if is_rule { FindingAuthor::Rule } else { author };
    Ok(Finding {
        id: row.id("id")?,
        task: row.id("task_id")?,
        place: FindingPlace {
            run: row.id_opt("run_id")?,
            job: row.id_opt("job_id")?,
            step_index: step_index.and_then(|index| u32::try_from(index).ok()),
        },
        status: row.word("status")?,
        severity: row.word("severity")?,
        message: row.get("message")?,
        location: row.get("location")?,
        suggestion: row.get("suggestion")?,
        by: Finder { author, token, user: row.id("user_id")? },
        verification: row.word_opt("verification")?,
        created_at: row.get("created_at")?,
    })
}
