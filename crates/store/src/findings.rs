//! Findings of verifications.

use chrono::{DateTime, Utc};
use cynode_domain::finding::{FindingAuthor, FindingStatus, Severity};
use cynode_domain::ids::{FindingId, JobId, RunId, TaskId, TokenId, UserId};
use cynode_domain::verification::VerificationKey;

use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::Row;
use cynode_sql::params;

/// The part of a task that a finding refers to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FindingSubject {
    pub run: Option<RunId>,
    pub job: Option<JobId>,
    /// The step of the plan, from 0.
    pub step_index: Option<u32>,
}

/// The author of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FindingAuthorship {
    /// A rule, an agent or a person.
    pub author: FindingAuthor,
    pub token: Option<TokenId>,
    pub user: UserId,
}

/// A finding. It is immutable: a later finding supersedes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredFinding {
    pub id: FindingId,
    pub task: TaskId,
    pub subject: FindingSubject,
    pub status: FindingStatus,
    pub severity: Severity,
    pub message: String,
    /// A file, a line, or a criterion.
    pub location: Option<String>,
    pub suggestion: Option<String>,
    pub authorship: FindingAuthorship,
    /// The verification whose verdict it decides; `None` for other findings.
    pub verification: Option<VerificationKey>,
    pub created_at: DateTime<Utc>,
}

impl Tx {
    pub async fn finding_insert(&mut self, finding: &StoredFinding) -> Result<(), Error> {
        let sql = "INSERT INTO verification_findings (id, task_id, run_id, job_id, step_index,
                   status, severity, message, location, suggestion, agent_type, token_id, user_id,
                   created_at, verification)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)";
        let params = params![
            finding.id,
            finding.task,
            finding.subject.run,
            finding.subject.job,
            finding.subject.step_index,
            finding.status.as_str(),
            finding.severity.as_str(),
            &finding.message,
            finding.location.clone(),
            finding.suggestion.clone(),
            finding.authorship.author.as_str(),
            finding.authorship.token,
            finding.authorship.user,
            finding.created_at,
            finding.verification.map(|key| key.to_string()),
        ];
        self.execute(sql, params).await.map(drop)
    }

    pub async fn finding_get(&mut self, id: FindingId) -> Result<Option<StoredFinding>, Error> {
        let sql = "SELECT * FROM verification_findings WHERE id = $1";
        self.one(&tables::FINDINGS, sql, params![id], finding).await
    }

    /// Lists findings of a task, newest first.
    pub async fn finding_list(
        &mut self,
        task: TaskId,
        before: Option<FindingId>,
        limit: u32,
    ) -> Result<Vec<StoredFinding>, Error> {
        let sql = "SELECT * FROM verification_findings WHERE task_id = $1
                   AND ($2 /*pg ::uuid */ IS NULL OR id < $2) ORDER BY id DESC LIMIT $3";
        self.page(&tables::FINDINGS, sql, params![task, before, limit], finding).await
    }

    /// Counts the findings of a task.
    pub async fn finding_count(&mut self, task: TaskId) -> Result<i64, Error> {
        let sql = "SELECT count(*) AS findings FROM verification_findings WHERE task_id = $1";
        let row = self.row(sql, params![task]).await?;
        row.map_or(Ok(0), |row| row.get("findings"))
    }
}

pub(crate) fn finding(row: &Row) -> Result<StoredFinding, Error> {
    let step_index: Option<i64> = row.get("step_index")?;
    let (author, token) = (row.keyword("agent_type")?, row.id_opt("token_id")?);
    // Older versions recorded findings of rules as those of an analyst. A real analyst has a token.
    let is_rule = author == FindingAuthor::Pa && token.is_none();
    let author = if is_rule { FindingAuthor::Rule } else { author };
    Ok(StoredFinding {
        id: row.id("id")?,
        task: row.id("task_id")?,
        subject: FindingSubject {
            run: row.id_opt("run_id")?,
            job: row.id_opt("job_id")?,
            step_index: step_index.and_then(|index| u32::try_from(index).ok()),
        },
        status: row.keyword("status")?,
        severity: row.keyword("severity")?,
        message: row.get("message")?,
        location: row.get("location")?,
        suggestion: row.get("suggestion")?,
        authorship: FindingAuthorship { author, token, user: row.id("user_id")? },
        verification: row.keyword_opt("verification")?,
        created_at: row.get("created_at")?,
    })
}
