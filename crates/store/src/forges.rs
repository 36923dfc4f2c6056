//! Forges of projects' repositories, and the deliveries of their webhooks.

use chrono::{DateTime, Utc};
use cynode_domain::forge::ForgeSettings;
use cynode_domain::git::RepositoryUrl;
use cynode_domain::ids::{ForgeId, ProjectId, UserId};
use serde_json::json;

use crate::quarantine::tables;
use crate::work_requests::request;
use crate::{Error, Tx, WorkRequest};
use cynode_sql::Row;
use cynode_sql::params;

/// The forge of a repository of a project. Its secrets are sealed values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectForge {
    pub id: ForgeId,
    pub project: ProjectId,
    /// As tasks name it; unique in the project.
    pub repository: RepositoryUrl,
    pub settings: ForgeSettings,
    pub has_webhook: bool,
    pub updated_by: UserId,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

impl Tx {
    /// Adds the forge of a repository, or replaces the one with the same id. Returns false if the repository has another one.
    pub async fn forge_put(&mut self, forge: &ProjectForge) -> Result<bool, Error> {
        let sql = "INSERT INTO project_forges (id, project_id, repository_url, settings, has_webhook,
                   updated_by, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
                   ON CONFLICT (project_id, repository_url) DO UPDATE SET settings = excluded.settings,
                   has_webhook = excluded.has_webhook, updated_by = excluded.updated_by,
                   updated_at = excluded.updated_at WHERE project_forges.id = excluded.id";
        let params = params![
            forge.id,
            forge.project,
            forge.repository.as_str(),
            json!(forge.settings),
            forge.has_webhook,
            forge.updated_by,
            forge.created_at,
            forge.updated_at,
        ];
        Ok(self.execute(sql, params).await? == 1)
    }

    pub async fn forge_get(&mut self, id: ForgeId) -> Result<Option<ProjectForge>, Error> {
        let sql = "SELECT * FROM project_forges WHERE id = $1";
        self.one(&tables::FORGES, sql, params![id], forge).await
    }

    /// Lists the forges of a project, by repository.
    pub async fn forge_list(&mut self, project: ProjectId) -> Result<Vec<ProjectForge>, Error> {
        let sql = "SELECT * FROM project_forges WHERE project_id = $1 ORDER BY repository_url";
        self.list(&tables::FORGES, sql, params![project], forge).await
    }

    /// Removes a forge and its deliveries; returns false if it does not exist.
    pub async fn forge_delete(&mut self, id: ForgeId) -> Result<bool, Error> {
        let sql = "DELETE FROM project_forges WHERE id = $1";
        Ok(self.execute(sql, params![id]).await? == 1)
    }

    /// Records a delivery, and forgets those before `oldest`; returns false if it was recorded already.
    pub async fn forge_delivery_insert(
        &mut self,
        forge: ForgeId,
        body_sha256: &str,
        (received_at, oldest): (DateTime<Utc>, DateTime<Utc>),
    ) -> Result<bool, Error> {
        let old = "DELETE FROM forge_deliveries WHERE forge_id = $1 AND received_at < $2";
        self.execute(old, params![forge, oldest]).await?;
        let sql = "INSERT INTO forge_deliveries (forge_id, body_sha256, received_at)
                   VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
        Ok(self.execute(sql, params![forge, body_sha256, received_at]).await? == 1)
    }

    /// Whether a delivery was recorded.
    pub async fn forge_delivery_is_known(
        &mut self,
        forge: ForgeId,
        body_sha256: &str,
    ) -> Result<bool, Error> {
        let sql = "SELECT forge_id FROM forge_deliveries WHERE forge_id = $1 AND body_sha256 = $2";
        Ok(self.row(sql, params![forge, body_sha256]).await?.is_some())
    }

    /// Lists the requests of a project whose pull request is followed.
    pub async fn requests_in_review(
        &mut self,
        project: ProjectId,
    ) -> Result<Vec<WorkRequest>, Error> {
        let sql = "SELECT r.* FROM work_requests r JOIN tasks t ON t.id = r.task_id
                   WHERE r.phase = 'in_review' AND NOT t.closed AND t.project_id = $1
                   ORDER BY r.task_id";
        self.list(&tables::WORK_REQUESTS, sql, params![project], request).await
    }
}

pub(crate) fn forge(row: &Row) -> Result<ProjectForge, Error> {
    let url: String = row.get("repository_url")?;
    Ok(ProjectForge {
        id: row.id("id")?,
        project: row.id("project_id")?,
        repository: url
            .try_into()
            .map_err(|_| Error::unreadable("repository_url", "no repository".to_owned()))?,
        settings: row.json("settings")?,
        has_webhook: row.get("has_webhook")?,
        updated_by: row.id("updated_by")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}
