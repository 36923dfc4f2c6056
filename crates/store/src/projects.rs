//! Projects.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use cynode_domain::git::ProjectRepository;
use cynode_domain::ids::{GroupId, ProjectId, UserId};

use crate::lookups::in_list;
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
    /// The group whose members see its tasks.
    pub group: Option<GroupId>,
    /// Whether it is its owner's default project.
    pub is_default: bool,
    /// Whether it accepts new tasks.
    pub is_active: bool,
    /// What its tasks work on if they ask for it.
    pub repository: Option<ProjectRepository>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

/// Projects. An owner has at most one default project.
impl Tx {
    /// Adds a project unless its slug, or its owner's default, exists; returns true if it was added.
    pub async fn project_insert(&mut self, project: &Project) -> Result<bool, Error> {
        let sql = "INSERT INTO projects
                   (id, slug, display_name, description, owner_id, is_default, is_active,
                    created_at, updated_at, group_id, repository_url, default_branch,
                    repository_credential)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
                   ON CONFLICT DO NOTHING";
        let repository = RepositoryColumns::new(project);
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
            project.group,
            repository.url,
            repository.default_branch,
            repository.credential,
        ];
        Ok(self.execute(sql, params).await? == 1)
    }

    pub async fn project_get(&mut self, id: ProjectId) -> Result<Option<Project>, Error> {
        let sql = "SELECT * FROM projects WHERE id = $1";
        self.one(&tables::PROJECTS, sql, params![id], project).await
    }

    /// Returns the project, locked until the transaction ends.
    pub async fn project_lock(&mut self, id: ProjectId) -> Result<Option<Project>, Error> {
        let sql = "SELECT * FROM projects WHERE id = $1 /*pg FOR NO KEY UPDATE */";
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

    /// Returns the handle of the owner and the slug of the group of projects.
    pub async fn project_names(
        &mut self,
        projects: &[ProjectId],
    ) -> Result<BTreeMap<ProjectId, (String, Option<String>)>, Error> {
        let Some((ids, params)) = in_list(projects) else { return Ok(BTreeMap::new()) };
        let sql = format!(
            "SELECT p.id, u.handle, g.slug FROM projects p JOIN users u ON u.id = p.owner_id
             LEFT JOIN user_groups g ON g.id = p.group_id WHERE p.id IN {ids}"
        );
        let rows = self.rows(&sql, &params).await?;
        rows.iter().map(|row| Ok((row.id("id")?, (row.get("handle")?, row.get("slug")?)))).collect()
    }

    /// Whether a user is a member of the group of a project.
    pub async fn project_is_shared_with(
        &mut self,
        project: ProjectId,
        user: UserId,
    ) -> Result<bool, Error> {
        let sql = "SELECT 1 AS found FROM projects p
                   JOIN user_group_members m ON m.group_id = p.group_id AND m.user_id = $2
                   WHERE p.id = $1";
        Ok(self.row(sql, params![project, user]).await?.is_some())
    }

    /// Lists a page of projects, newest first, older than `before`; those of a user and of the user's groups, or all.
    pub async fn project_list(
        &mut self,
        reader: Option<UserId>,
        before: Option<ProjectId>,
        limit: u32,
    ) -> Result<Vec<Project>, Error> {
        let sql = "SELECT * FROM projects
                   WHERE ($1 /*pg ::uuid */ IS NULL OR owner_id = $1 OR group_id IN (
                       SELECT m.group_id FROM user_group_members m WHERE m.user_id = $1))
                   AND ($2 /*pg ::uuid */ IS NULL OR id < $2)
                   ORDER BY id DESC LIMIT $3";
        self.page(&tables::PROJECTS, sql, params![reader, before, limit], project).await
    }

    /// Lists a page of projects as [`Self::project_list`], without those that are only shared with the reader.
    pub async fn project_list_owned(
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

    /// Updates the display name, description, activity, group and repository of a project.
    pub async fn project_update(&mut self, project: &Project) -> Result<(), Error> {
        let sql = "UPDATE projects SET display_name = $2, description = $3, is_active = $4,
                   updated_at = $5, group_id = $6, repository_url = $7, default_branch = $8,
                   repository_credential = $9 WHERE id = $1";
        let repository = RepositoryColumns::new(project);
        let params = params![
            project.id,
            &project.display_name,
            &project.description,
            project.is_active,
            project.updated_at,
            project.group,
            repository.url,
            repository.default_branch,
            repository.credential,
        ];
        self.execute(sql, params).await.map(drop)
    }
}

/// The columns of the repository of a project.
struct RepositoryColumns<'p> {
    url: Option<&'p str>,
    default_branch: Option<&'p str>,
    credential: Option<&'p str>,
}

impl<'p> RepositoryColumns<'p> {
    fn new(project: &'p Project) -> Self {
        let repository = project.repository.as_ref();
        Self {
            url: repository.map(|repository| repository.url.as_str()),
            default_branch: repository
                .and_then(|repository| Some(repository.default_branch.as_ref()?.as_str())),
            credential: repository.and_then(|repository| repository.credential.as_deref()),
        }
    }
}

fn repository(row: &Row) -> Result<Option<ProjectRepository>, Error> {
    let Some(url) = row.get::<Option<String>>("repository_url")? else { return Ok(None) };
    let branch: Option<String> = row.get("default_branch")?;
    Ok(Some(ProjectRepository {
        url: url
            .try_into()
            .map_err(|_| Error::unreadable("repository_url", "no repository".to_owned()))?,
        default_branch: branch
            .map(TryInto::try_into)
            .transpose()
            .map_err(|_| Error::unreadable("default_branch", "no branch".to_owned()))?,
        credential: row.get("repository_credential")?,
    }))
}

pub(crate) fn project(row: &Row) -> Result<Project, Error> {
    Ok(Project {
        id: row.id("id")?,
        slug: row.get("slug")?,
        display_name: row.get("display_name")?,
        description: row.get("description")?,
        owner: row.id("owner_id")?,
        group: row.id_opt("group_id")?,
        is_default: row.get("is_default")?,
        is_active: row.get("is_active")?,
        repository: repository(row)?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}
