//! Agent profiles, and the canary runs that admit them to nodes.

use chrono::{DateTime, Utc};
use cynode_domain::agent_profile::AgentProfileName;
use cynode_domain::agent_program::AgentProfileSpec;
use cynode_domain::ids::{AgentProfileId, JobId, NodeId, TaskId, UserId};
use serde_json::{Value, json};

use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::{Row, params};

/// A program of another vendor that works as an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentProfile {
    pub id: AgentProfileId,
    pub name: AgentProfileName,
    /// Incremented by every change; starts at 1.
    pub revision: u32,
    pub spec: AgentProfileSpec,
    pub created_by: UserId,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    /// Whether it was deleted. Its row stays, for the next profile with its name.
    pub is_deleted: bool,
}

/// The newest canary run of a revision of a profile on a node.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentCanary {
    pub profile: AgentProfileName,
    pub revision: u32,
    pub node: NodeId,
    pub is_passed: bool,
    pub report: Value,
    pub job: JobId,
    pub task: TaskId,
    pub reported_at: DateTime<Utc>,
}

/// The current revision of a profile, and a node that passed its canary run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileAdmission {
    pub profile: String,
    pub revision: u32,
    /// `None` if no node passed.
    pub node: Option<NodeId>,
}

impl Tx {
    /// Returns the profile, also a deleted one; locked until the transaction ends.
    pub async fn agent_profile_lock(
        &mut self,
        name: &AgentProfileName,
    ) -> Result<Option<AgentProfile>, Error> {
        let sql = "SELECT * FROM agent_profiles WHERE name = $1 /*pg FOR NO KEY UPDATE */";
        self.one(&tables::AGENT_PROFILES, sql, params![name.as_str()], profile).await
    }

    pub async fn agent_profile_get(&mut self, name: &str) -> Result<Option<AgentProfile>, Error> {
        let sql = "SELECT * FROM agent_profiles WHERE name = $1 AND deleted_at IS NULL";
        self.one(&tables::AGENT_PROFILES, sql, params![name], profile).await
    }

    /// Lists all profiles, by name.
    pub async fn agent_profile_list(&mut self) -> Result<Vec<AgentProfile>, Error> {
        let sql = "SELECT * FROM agent_profiles WHERE deleted_at IS NULL ORDER BY name";
        self.list(&tables::AGENT_PROFILES, sql, &[], profile).await
    }

    /// Inserts a profile, or updates one whose revision was `revision - 1`; returns false if the revision differs.
    pub async fn agent_profile_put(&mut self, profile: &AgentProfile) -> Result<bool, Error> {
        let sql = "INSERT INTO agent_profiles (id, name, revision, spec, created_by, created_at, updated_at)
                   VALUES ($1, $2, $3, $4, $5, $6, $7)
                   ON CONFLICT (name) DO UPDATE SET revision = excluded.revision, spec = excluded.spec,
                       created_by = excluded.created_by, created_at = excluded.created_at,
                       updated_at = excluded.updated_at, deleted_at = NULL
                   WHERE agent_profiles.revision = excluded.revision - 1";
        let (name, spec) = (profile.name.as_str(), json!(profile.spec));
        let AgentProfile { id, revision, created_by, created_at, updated_at, .. } = *profile;
        let params = params![id, name, revision, spec, created_by, created_at, updated_at];
        Ok(self.execute(sql, params).await? == 1)
    }

    /// Deletes a profile; returns false if it does not exist.
    pub async fn agent_profile_delete(&mut self, name: &str) -> Result<bool, Error> {
        let sql = "UPDATE agent_profiles SET deleted_at = cynode_now()
                   WHERE name = $1 AND deleted_at IS NULL";
        Ok(self.execute(sql, params![name]).await? == 1)
    }

    /// Records a canary run, unless a newer job has reported one.
    pub async fn agent_canary_put(&mut self, canary: &AgentCanary) -> Result<(), Error> {
        let sql = "INSERT INTO agent_canaries (profile_id, revision, node_id, is_passed, report, job_id,
                       task_id, reported_at)
                   VALUES ((SELECT id FROM agent_profiles WHERE name = $1), $2, $3, $4, $5, $6, $7, $8)
                   ON CONFLICT (profile_id, revision, node_id) DO UPDATE SET
                       is_passed = excluded.is_passed, report = excluded.report, job_id = excluded.job_id,
                       task_id = excluded.task_id, reported_at = excluded.reported_at
                   WHERE agent_canaries.job_id <= excluded.job_id";
        let AgentCanary { revision, node, is_passed, job, task, reported_at, .. } = *canary;
        let (name, report) = (canary.profile.as_str(), &canary.report);
        let params = params![name, revision, node, is_passed, report, job, task, reported_at];
        self.execute(sql, params).await.map(drop)
    }

    /// Lists the canary runs of the current revision of each profile.
    pub async fn agent_canary_list(&mut self) -> Result<Vec<AgentCanary>, Error> {
        let sql = format!("{CANARY} WHERE c.revision = p.revision AND p.deleted_at IS NULL");
        self.list(&tables::AGENT_CANARIES, &sql, &[], canary).await
    }

    /// Lists the profiles with the nodes that passed the canary run of their current revision.
    pub async fn agent_admission_list(&mut self) -> Result<Vec<ProfileAdmission>, Error> {
        let sql = "SELECT p.name, p.revision, c.node_id FROM agent_profiles p
                   LEFT JOIN agent_canaries c ON c.profile_id = p.id AND c.revision = p.revision
                       AND c.is_passed
                   WHERE p.deleted_at IS NULL";
        let admission = |row: &Row| {
            let (profile, revision) = (row.get("name")?, row.count("revision")?);
            Ok(ProfileAdmission { profile, revision, node: row.id_opt("node_id")? })
        };
        // A profile whose row is damaged admits nothing, and does not keep others from being placed.
        let rows = self.rows(sql, &[]).await?;
        Ok(rows.iter().map(admission).filter_map(Result::<_, Error>::ok).collect())
    }
}

pub(crate) const CANARY: &str = "SELECT c.*, p.name FROM agent_canaries c
    JOIN agent_profiles p ON p.id = c.profile_id";

pub(crate) fn profile(row: &Row) -> Result<AgentProfile, Error> {
    Ok(AgentProfile {
        id: row.id("id")?,
        name: row.keyword("name")?,
        revision: row.count("revision")?,
        spec: row.json("spec")?,
        created_by: row.id("created_by")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
        is_deleted: row.get::<Option<DateTime<Utc>>>("deleted_at")?.is_some(),
    })
}

pub(crate) fn canary(row: &Row) -> Result<AgentCanary, Error> {
    Ok(AgentCanary {
        profile: row.keyword("name")?,
        revision: row.count("revision")?,
        node: row.id("node_id")?,
        is_passed: row.get("is_passed")?,
        report: row.get("report")?,
        job: row.id("job_id")?,
        task: row.id("task_id")?,
        reported_at: row.get("reported_at")?,
    })
}
