//! Profiles of projects: what their agents may use.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use cynode_domain::ids::{ProfileId, ProjectId, UserId};
use cynode_domain::profile::{DEFAULT_PROFILE, ProfileSpec};
use serde_json::json;

use crate::lookups::in_list;
use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::{Row, params};

/// What the agents of a project may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    pub id: ProfileId,
    pub project: ProjectId,
    /// Unique in the project.
    pub name: String,
    /// Whether work without a profile uses it.
    pub is_default: bool,
    pub spec: ProfileSpec,
    /// Incremented by every change; starts at 1.
    pub revision: u32,
    pub created_by: UserId,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

/// A profile as policy snapshots need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NarrowingProfile {
    pub id: ProfileId,
    pub name: String,
    /// `None` if it cannot be read: the profile then allows nothing.
    pub spec: Option<ProfileSpec>,
}

/// Whether a profile has data that prompts quote.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProfileContents {
    pub has_memory: bool,
    pub has_documents: bool,
}

/// Profiles. A project has one default profile.
impl Tx {
    /// Adds a profile unless its name, or the project's default, exists; returns true if it was added.
    pub async fn profile_insert(&mut self, profile: &Profile) -> Result<bool, Error> {
        let sql = "INSERT INTO profiles
                   (id, project_id, name, is_default, spec, revision, created_by, created_at, updated_at)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING";
        let Profile {
            id, project, is_default, revision, created_by, created_at, updated_at, ..
        } = *profile;
        let (name, spec) = (profile.name.as_str(), json!(profile.spec));
        let params = params![
            id, project, name, is_default, spec, revision, created_by, created_at, updated_at
        ];
        Ok(self.execute(sql, params).await? == 1)
    }

    pub async fn profile_get(&mut self, id: ProfileId) -> Result<Option<Profile>, Error> {
        let sql = "SELECT * FROM profiles WHERE id = $1";
        self.one(&tables::PROFILES, sql, params![id], profile).await
    }

    /// Returns the profile, locked until the transaction ends.
    pub async fn profile_lock(&mut self, id: ProfileId) -> Result<Option<Profile>, Error> {
        let sql = "SELECT * FROM profiles WHERE id = $1 /*pg FOR UPDATE */";
        self.one(&tables::PROFILES, sql, params![id], profile).await
    }

    /// Keeps a profile from being deleted until the transaction ends; returns false if it does not exist.
    pub async fn profile_hold(&mut self, id: ProfileId) -> Result<bool, Error> {
        let sql = "SELECT 1 AS one FROM profiles WHERE id = $1 /*pg FOR KEY SHARE */";
        Ok(self.row(sql, params![id]).await?.is_some())
    }

    /// Returns the profile of a project with this name.
    pub async fn profile_by_name(
        &mut self,
        project: ProjectId,
        name: &str,
    ) -> Result<Option<Profile>, Error> {
        let sql = "SELECT * FROM profiles WHERE project_id = $1 AND name = $2";
        self.one(&tables::PROFILES, sql, params![project, name], profile).await
    }

    /// Returns the default profile of a project; `None` for a project that no profile was needed for.
    pub async fn profile_default(&mut self, project: ProjectId) -> Result<Option<Profile>, Error> {
        let sql = "SELECT * FROM profiles WHERE project_id = $1 AND is_default";
        self.one(&tables::PROFILES, sql, params![project], profile).await
    }

    /// Lists the profiles of a project, by name.
    pub async fn profile_list(&mut self, project: ProjectId) -> Result<Vec<Profile>, Error> {
        let sql = "SELECT * FROM profiles WHERE project_id = $1 ORDER BY name";
        self.list(&tables::PROFILES, sql, params![project], profile).await
    }

    /// Lists the profiles of all projects that narrow something. A spec that cannot be read is `None`.
    pub async fn profile_list_narrowing(&mut self) -> Result<Vec<NarrowingProfile>, Error> {
        let sql = "SELECT * FROM profiles WHERE CAST(spec AS text) <> '{}' ORDER BY id";
        let rows = self.rows(sql, &[]).await?;
        // Reports unreadable rows.
        self.list(&tables::PROFILES, sql, &[], profile).await?;
        let narrowing = |row: &Row| {
            let (id, name) = (row.id("id").ok()?, row.get("name").unwrap_or_default());
            Some(NarrowingProfile { id, name, spec: profile(row).ok().map(|found| found.spec) })
        };
        Ok(rows.iter().filter_map(narrowing).collect())
    }

    /// Returns the names of profiles.
    pub async fn profile_names(
        &mut self,
        profiles: &[ProfileId],
    ) -> Result<BTreeMap<ProfileId, String>, Error> {
        let Some((ids, params)) = in_list(profiles) else { return Ok(BTreeMap::new()) };
        let sql = format!("SELECT id, name FROM profiles WHERE id IN {ids}");
        let rows = self.rows(&sql, &params).await?;
        rows.iter().map(|row| Ok((row.id("id")?, row.get("name")?))).collect()
    }

    /// Returns the names of profiles, also of default profiles without a row.
    pub async fn profile_shown_names(
        &mut self,
        profiles: &[ProfileId],
    ) -> Result<BTreeMap<ProfileId, String>, Error> {
        let Some((ids, params)) = in_list(profiles) else { return Ok(BTreeMap::new()) };
        let sql = format!(
            "SELECT id, name FROM profiles WHERE id IN {ids}
             UNION ALL SELECT p.id, '{DEFAULT_PROFILE}' AS name FROM projects p WHERE p.id IN {ids}
             AND NOT EXISTS (SELECT 1 FROM profiles f WHERE f.id = p.id)"
        );
        let rows = self.rows(&sql, &params).await?;
        rows.iter().map(|row| Ok((row.id("id")?, row.get("name")?))).collect()
    }

    /// Counts the profiles of a project.
    pub async fn profile_count(&mut self, project: ProjectId) -> Result<i64, Error> {
        let sql = "SELECT count(*) AS n FROM profiles WHERE project_id = $1";
        self.row(sql, params![project]).await?.map_or(Ok(0), |row| row.get("n"))
    }

    /// Updates the name and spec of a profile whose revision was `revision - 1`; returns false if the revision differs.
    ///
    /// Fails if another profile of the project has the name.
    pub async fn profile_update(&mut self, profile: &Profile) -> Result<bool, Error> {
        let sql = "UPDATE profiles SET name = $2, spec = $3, revision = $4, updated_at = $5
                   WHERE id = $1 AND revision + 1 = $4";
        let (name, spec) = (profile.name.as_str(), json!(profile.spec));
        let params = params![profile.id, name, spec, profile.revision, profile.updated_at];
        Ok(self.execute(sql, params).await? == 1)
    }

    /// Deletes a profile that is not a default, with its memory, and revokes its tokens; returns false if there is no such profile.
    pub async fn profile_delete(&mut self, id: ProfileId) -> Result<bool, Error> {
        let sql = "DELETE FROM project_memory WHERE profile_id = $1
                   AND EXISTS (SELECT 1 FROM profiles p WHERE p.id = $1 AND NOT p.is_default)";
        self.execute(sql, params![id]).await?;
        let sql = "DELETE FROM profiles WHERE id = $1 AND NOT is_default";
        if self.execute(sql, params![id]).await? == 0 {
            return Ok(false);
        }
        let sql = "UPDATE agent_tokens SET revoked_at = cynode_now()
                   WHERE profile_id = $1 AND revoked_at IS NULL";
        self.execute(sql, params![id]).await?;
        Ok(true)
    }

    /// Whether a profile has memory and documents; also for a default profile without a row.
    pub async fn profile_contents(&mut self, id: ProfileId) -> Result<ProfileContents, Error> {
        let sql = "SELECT EXISTS (SELECT 1 FROM project_memory WHERE profile_id = $1) AS has_memory,
                   EXISTS (SELECT 1 FROM knowledge_documents WHERE profile_id = $1) AS has_documents";
        let Some(row) = self.row(sql, params![id]).await? else {
            return Ok(ProfileContents::default());
        };
        let (has_memory, has_documents) = (row.get("has_memory")?, row.get("has_documents")?);
        Ok(ProfileContents { has_memory, has_documents })
    }

    /// Whether a task that has not ended uses the profile.
    pub async fn profile_has_open_tasks(&mut self, id: ProfileId) -> Result<bool, Error> {
        let sql = "SELECT 1 AS one FROM tasks WHERE profile_id = $1 AND NOT closed LIMIT 1";
        Ok(self.row(sql, params![id]).await?.is_some())
    }
}

pub(crate) fn profile(row: &Row) -> Result<Profile, Error> {
    Ok(Profile {
        id: row.id("id")?,
        project: row.id("project_id")?,
        name: row.get("name")?,
        is_default: row.get("is_default")?,
        spec: row.json("spec")?,
        revision: row.count("revision")?,
        created_by: row.id("created_by")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}
