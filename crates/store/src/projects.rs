//! Projects.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{ProjectId, UserId};

use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::Row;
use cynode_sql::params;

/// A container of tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    pub id: ProjectId,
    /// The name in URLs and on the command line.
    pub slug: String,
    /// The name shown to people.
    pub display_name: String,
    pub description: String,
    pub owner: UserId,
    /// Whether it is its owner's default project.
    pub is_default: bool,
    /// Whether it accepts new tasks.
    pub is_active: bool,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

/// Projects. An owner has at most one default project.
impl Tx {
    /// Adds a project unless its slug, or its owner's default, exists; returns true if it was added.
    pub async fn project_insert(&mut self, project: &Project) -> Result<bool, Error> {
        let sql = "INSERT INTO projects
                   (id, slug, display_name, description, owner_id, is_default, is_active,
                    created_at, updated_at)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING";
        let params = params![
            project.id,
            &project.slug,
            &project.display_name,
            &project.description,
            project.owner,
            project.is_default,
            project.is_active,
            project.created_at,
            project.updated_at,
        ];
        Ok(self.execute(sql, params).await? == 1)
    }

    pub async fn project_get(&mut self, id: ProjectId) -> Result<Option<Project>, Error> {
        let sql = "SELECT * FROM projects WHERE id = $1";
        self.one(&tables::PROJECTS, sql, params![id], project).await
    }

    pub async fn project_by_slug(&mut self, slug: &str) -> Result<Option<Project>, Error> {
        let sql = "SELECT * FROM projects WHERE slug = $1";
        self.one(&tables::PROJECTS, sql, params![slug], project).await
    }

    /// Returns the owner's default project.
    pub async fn project_default(&mut self, owner: UserId) -> Result<Option<Project>, Error> {
        let sql = "SELECT * FROM projects WHERE owner_id = $1 AND is_default";
        self.one(&tables::PROJECTS, sql, params![owner], project).await
    }

    /// Lists a page of projects, newest first, older than `before`; of one owner, or of all.
    pub async fn project_list(
        &mut self,
        owner: Option<UserId>,
        before: Option<ProjectId>,
        limit: u32,
    ) -> Result<Vec<Project>, Error> {
        let sql = "SELECT * FROM projects
                   WHERE ($1 /*pg ::uuid */ IS NULL OR owner_id = $1)
                   AND ($2 /*pg ::uuid */ IS NULL OR id < $2)
                   ORDER BY id DESC LIMIT $3";
        self.page(&tables::PROJECTS, sql, params![owner, before, limit], project).await
    }

    /// Updates the display name, description and activity of a project.
    pub async fn project_update(&mut self, project: &Project) -> Result<(), Error> {
        let sql = "UPDATE projects SET display_name = $2, description = $3, is_active = $4,
                   updated_at = $5 WHERE id = $1";
        let params = params![
            project.id,
            &project.display_name,
            &project.description,
            project.is_active,
            project.updated_at,
        ];
        self.execute(sql, params).await.map(drop)
    }
}

pub(crate) fn project(row: &Row) -> Result<Project, Error> {
    Ok(Project {
        id: row.id("id")?,
        slug: row.get("slug")?,
        display_name: row.get("display_name")?,
        description: row.get("description")?,
        owner: row.id("owner_id")?,
        is_default: row.get("is_default")?,
        is_active: row.get("is_active")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}
