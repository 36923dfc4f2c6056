//! Skills.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{GroupId, ProjectId, SkillId, UserId};
use cynode_domain::skill::SkillScope;

use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::Row;
use cynode_sql::params;

/// A skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    pub id: SkillId,
    /// The name shown to people.
    pub name: String,
    /// Who can read it.
    pub scope: SkillScope,
    /// For a project skill.
    pub project: Option<ProjectId>,
    /// For a group skill.
    pub group: Option<GroupId>,
    /// `None` for skills of the system.
    pub owner: Option<UserId>,
    /// Empty in lists.
    pub content: String,
    /// The SHA-256 of the content, in hex.
    pub content_sha256: String,
    /// Incremented by every change; starts at 1.
    pub version: i64,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    /// `None` for a release.
    pub updated_by: Option<UserId>,
}

/// Selects skills of a list.
#[derive(Debug, Clone, Copy, Default)]
pub struct SkillFilter {
    /// Only skills that this user can read: own ones, those of own projects and groups, and global ones. All if
    /// absent.
    pub reader: Option<UserId>,
    /// Only this scope.
    pub scope: Option<SkillScope>,
    /// Only this owner.
    pub owner: Option<UserId>,
    /// Only skills of this project, and those of no project.
    pub bound_project: Option<ProjectId>,
    /// Only skills older than this one.
    pub before: Option<SkillId>,
    pub limit: u32,
}

impl Tx {
    pub async fn skill_insert(&mut self, skill: &Skill) -> Result<(), Error> {
        let sql = "INSERT INTO skills (id, name, scope, project_id, owner_id, content,
                   content_sha256, version, created_at, updated_at, group_id, updated_by)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
        let params = params![
            skill.id,
            &skill.name,
            skill.scope.as_str(),
            skill.project,
            skill.owner,
            &skill.content,
            &skill.content_sha256,
            skill.version,
            skill.created_at,
            skill.updated_at,
            skill.group,
            skill.updated_by,
        ];
        self.execute(sql, params).await.map(drop)
    }

    pub async fn skill_get(&mut self, id: SkillId) -> Result<Option<Skill>, Error> {
        let sql = "SELECT * FROM skills WHERE id = $1";
        self.one(&tables::SKILLS, sql, params![id], skill).await
    }

    /// Lists skills without content, newest first.
    pub async fn skill_list(&mut self, filter: &SkillFilter) -> Result<Vec<Skill>, Error> {
        let sql = "SELECT s.id, s.name, s.scope, s.project_id, s.owner_id, '' AS content,
                   s.content_sha256, s.version, s.created_at, s.updated_at, s.group_id, s.updated_by
                   FROM skills s LEFT JOIN projects p ON p.id = s.project_id
                   WHERE ($1 /*pg ::uuid */ IS NULL OR s.scope = 'global' OR s.owner_id = $1
                       OR p.owner_id = $1 OR EXISTS (SELECT 1 FROM user_group_members m
                           WHERE m.group_id = s.group_id AND m.user_id = $1))
                   AND ($2 /*pg ::text */ IS NULL OR s.scope = $2)
                   AND ($3 /*pg ::uuid */ IS NULL OR s.owner_id = $3)
                   AND ($4 /*pg ::uuid */ IS NULL OR s.id < $4)
                   AND ($5 /*pg ::uuid */ IS NULL OR s.project_id IS NULL OR s.project_id = $5)
                   ORDER BY s.id DESC LIMIT $6";
        let scope = filter.scope.map(SkillScope::as_str);
        let params = params![
            filter.reader,
            scope,
            filter.owner,
            filter.before,
            filter.bound_project,
            filter.limit,
        ];
        self.page(&tables::SKILLS, sql, params, skill).await
    }

    /// Counts the skills that a user owns.
    pub async fn skill_count(&mut self, owner: UserId) -> Result<i64, Error> {
        let sql = "SELECT count(*) AS skills FROM skills WHERE owner_id = $1";
        let row = self.row(sql, params![owner]).await?;
        row.map_or(Ok(0), |row| row.get("skills"))
    }

    /// Updates a skill whose version was `version - 1`; returns false if the version differs.
    pub async fn skill_update(&mut self, skill: &Skill) -> Result<bool, Error> {
        let sql = "UPDATE skills SET name = $3, scope = $4, project_id = $5, content = $6,
                   content_sha256 = $7, version = $2, updated_at = $8, group_id = $9,
                   updated_by = $10
                   WHERE id = $1 AND version + 1 = $2";
        let params = params![
            skill.id,
            skill.version,
            &skill.name,
            skill.scope.as_str(),
            skill.project,
            &skill.content,
            &skill.content_sha256,
            skill.updated_at,
            skill.group,
            skill.updated_by,
        ];
        Ok(self.execute(sql, params).await? == 1)
    }

    /// Removes a skill; returns false if it does not exist.
    pub async fn skill_delete(&mut self, id: SkillId) -> Result<bool, Error> {
        let sql = "DELETE FROM skills WHERE id = $1";
        Ok(self.execute(sql, params![id]).await? == 1)
    }
}

pub(crate) fn skill(row: &Row) -> Result<Skill, Error> {
    Ok(Skill {
        id: row.id("id")?,
        name: row.get("name")?,
        scope: row.keyword("scope")?,
        project: row.id_opt("project_id")?,
        group: row.id_opt("group_id")?,
        owner: row.id_opt("owner_id")?,
        content: row.get("content")?,
        content_sha256: row.get("content_sha256")?,
        version: row.get("version")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
        updated_by: row.id_opt("updated_by")?,
    })
}
