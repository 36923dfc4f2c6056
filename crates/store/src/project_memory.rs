//! Project memory: entries of a profile, kept across tasks. Every statement names the profile.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{MemoryEntryId, ProfileId, ProjectId, UserId};
use cynode_domain::project_memory::{MemoryAuthorKind, MemoryKind, MemorySource};

use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::{Row, params};

/// An entry of the project memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryEntry {
    pub id: MemoryEntryId,
    pub project: ProjectId,
    pub profile: ProfileId,
    pub kind: MemoryKind,
    pub title: String,
    pub text: String,
    pub author: MemoryAuthorKind,
    /// The person who wrote it, or on whose behalf it was written.
    pub author_id: UserId,
    pub source: MemorySource,
    /// What a rule wrote it about; written once in a profile.
    pub rule_key: Option<String>,
    /// Incremented by every change; starts at 1.
    pub revision: u32,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

/// Project memory.
impl Tx {
    /// Adds an entry unless its profile has one with its rule key; returns true if it was added.
    pub async fn memory_insert(&mut self, entry: &MemoryEntry) -> Result<bool, Error> {
        let sql = "INSERT INTO project_memory (id, project_id, profile_id, kind, title, text, author_kind,
                       author_id, source_task_id, source_run_id, source_step, source_agent, rule_key,
                       revision, created_at, updated_at)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
                   ON CONFLICT DO NOTHING";
        let source = &entry.source;
        let params = params![
            entry.id,
            entry.project,
            entry.profile,
            entry.kind.as_str(),
            &entry.title,
            &entry.text,
            entry.author.as_str(),
            entry.author_id,
            source.task_id,
            source.run_id,
            source.step.clone(),
            source.agent.clone(),
            entry.rule_key.clone(),
            entry.revision,
            entry.created_at,
            entry.updated_at,
        ];
        Ok(self.execute(sql, params).await? == 1)
    }

    pub async fn memory_get(
        &mut self,
        profile: ProfileId,
        id: MemoryEntryId,
    ) -> Result<Option<MemoryEntry>, Error> {
        let sql = "SELECT * FROM project_memory WHERE profile_id = $1 AND id = $2";
        self.one(&tables::PROJECT_MEMORY, sql, params![profile, id], entry).await
    }

    /// Lists a page of entries, newest first, older than `before`.
    pub async fn memory_list(
        &mut self,
        profile: ProfileId,
        kind: Option<MemoryKind>,
        before: Option<MemoryEntryId>,
        limit: u32,
    ) -> Result<Vec<MemoryEntry>, Error> {
        let sql = "SELECT * FROM project_memory WHERE profile_id = $1
                   AND ($2 /*pg ::text */ IS NULL OR kind = $2)
                   AND ($3 /*pg ::uuid */ IS NULL OR id < $3)
                   ORDER BY id DESC LIMIT $4";
        let params = params![profile, kind.map(|kind| kind.as_str().to_owned()), before, limit];
        self.page(&tables::PROJECT_MEMORY, sql, params, entry).await
    }

    /// Lists all entries of a profile, oldest first.
    pub async fn memory_list_all(&mut self, profile: ProfileId) -> Result<Vec<MemoryEntry>, Error> {
        let sql = "SELECT * FROM project_memory WHERE profile_id = $1 ORDER BY id";
        self.list(&tables::PROJECT_MEMORY, sql, params![profile], entry).await
    }

    /// Counts the entries of a profile.
    pub async fn memory_count(&mut self, profile: ProfileId) -> Result<i64, Error> {
        let sql = "SELECT count(*) AS n FROM project_memory WHERE profile_id = $1";
        self.row(sql, params![profile]).await?.map_or(Ok(0), |row| row.get("n"))
    }

    /// Updates an entry whose revision was `revision - 1`; returns false if the revision differs.
    pub async fn memory_update(&mut self, entry: &MemoryEntry) -> Result<bool, Error> {
        let sql = "UPDATE project_memory SET kind = $3, title = $4, text = $5, author_kind = $6,
                       author_id = $7, revision = $8, updated_at = $9
                   WHERE profile_id = $1 AND id = $2 AND revision + 1 = $8";
        let params = params![
            entry.profile,
            entry.id,
            entry.kind.as_str(),
            &entry.title,
            &entry.text,
            entry.author.as_str(),
            entry.author_id,
            entry.revision,
            entry.updated_at,
        ];
        Ok(self.execute(sql, params).await? == 1)
    }

    /// Deletes an entry of this revision; returns false if it does not exist, or was changed.
    pub async fn memory_delete(
        &mut self,
        profile: ProfileId,
        id: MemoryEntryId,
        revision: u32,
    ) -> Result<bool, Error> {
        let sql = "DELETE FROM project_memory WHERE profile_id = $1 AND id = $2 AND revision = $3";
        Ok(self.execute(sql, params![profile, id, revision]).await? == 1)
    }
}

pub(crate) fn entry(row: &Row) -> Result<MemoryEntry, Error> {
    Ok(MemoryEntry {
        id: row.id("id")?,
        project: row.id("project_id")?,
        profile: row.id("profile_id")?,
        kind: row.keyword("kind")?,
        title: row.get("title")?,
        text: row.get("text")?,
        author: row.keyword("author_kind")?,
        author_id: row.id("author_id")?,
        source: MemorySource {
            task_id: row.id_opt("source_task_id")?,
            run_id: row.id_opt("source_run_id")?,
            step: row.get("source_step")?,
            agent: row.get("source_agent")?,
        },
        rule_key: row.get("rule_key")?,
        revision: row.count("revision")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}
