//! The history of skills, and how the scan judged their texts.
//!
//! A row that cannot be decoded fails the read: nothing is delivered on the word of an unreadable verdict.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{SkillId, UserId};
use cynode_sql::{Row, params};

use crate::quarantine::tables;
use crate::skills::skill;
use crate::{Error, Skill, Tx};

/// A text that a skill had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillVersion {
    pub skill: SkillId,
    pub version: i64,
    pub name: String,
    /// Empty in lists.
    pub content: String,
    pub content_sha256: String,
    /// `None` for the text of a release.
    pub author: Option<UserId>,
    pub reason: Option<String>,
    pub created_at: DateTime<Utc>,
}

/// How the scan judged the text of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillScan {
    pub skill: SkillId,
    /// The text that was judged.
    pub content_sha256: String,
    /// The fingerprint of the rules.
    pub rules: String,
    /// JSON; `None` if the text passed.
    pub findings: Option<String>,
    /// JSON: the rules that an administrator released this text from.
    pub released: Option<String>,
    pub scanned_at: DateTime<Utc>,
}

impl Tx {
    /// Adds a version; one that exists is left as it is.
    pub async fn skill_version_insert(&mut self, version: &SkillVersion) -> Result<(), Error> {
        let sql = "INSERT INTO skill_versions (skill_id, version, name, content, content_sha256,
                   author_id, reason, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
                   ON CONFLICT (skill_id, version) DO NOTHING";
        let params = params![
            version.skill,
            version.version,
            &version.name,
            &version.content,
            &version.content_sha256,
            version.author,
            version.reason.clone(),
            version.created_at,
        ];
        self.execute(sql, params).await.map(drop)
    }

    /// Lists versions without content, newest first, before version `before`.
    pub async fn skill_version_list(
        &mut self,
        skill: SkillId,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<SkillVersion>, Error> {
        let sql =
            "SELECT skill_id, version, name, '' AS content, content_sha256, author_id, reason,
                   created_at FROM skill_versions
                   WHERE skill_id = $1 AND ($2 /*pg ::bigint */ IS NULL OR version < $2)
                   ORDER BY version DESC LIMIT $3";
        let rows = self.rows(sql, params![skill, before, limit]).await?;
        rows.iter().map(skill_version).collect()
    }

    pub async fn skill_version_get(
        &mut self,
        skill: SkillId,
        version: i64,
    ) -> Result<Option<SkillVersion>, Error> {
        let sql = "SELECT * FROM skill_versions WHERE skill_id = $1 AND version = $2";
        let row = self.row(sql, params![skill, version]).await?;
        row.as_ref().map(skill_version).transpose()
    }

    /// Removes the versions up to `last`.
    pub async fn skill_version_prune(&mut self, skill: SkillId, last: i64) -> Result<(), Error> {
        let sql = "DELETE FROM skill_versions WHERE skill_id = $1 AND version <= $2";
        self.execute(sql, params![skill, last]).await.map(drop)
    }

    pub async fn skill_scan_get(&mut self, skill: SkillId) -> Result<Option<SkillScan>, Error> {
        let sql = "SELECT * FROM skill_scans WHERE skill_id = $1";
        let row = self.row(sql, params![skill]).await?;
        row.as_ref().map(skill_scan).transpose()
    }

    /// Returns the verdict about a skill, locked until the transaction ends.
    pub async fn skill_scan_lock(&mut self, skill: SkillId) -> Result<Option<SkillScan>, Error> {
        let sql = "SELECT * FROM skill_scans WHERE skill_id = $1 /*pg FOR UPDATE */";
        let row = self.row(sql, params![skill]).await?;
        row.as_ref().map(skill_scan).transpose()
    }

    /// Replaces the verdict about a skill.
    pub async fn skill_scan_put(&mut self, scan: &SkillScan) -> Result<(), Error> {
        let sql = "INSERT INTO skill_scans (skill_id, content_sha256, rules, findings, released,
                   scanned_at) VALUES ($1, $2, $3, $4, $5, $6)
                   ON CONFLICT (skill_id) DO UPDATE SET content_sha256 = excluded.content_sha256,
                   rules = excluded.rules, findings = excluded.findings,
                   released = excluded.released, scanned_at = excluded.scanned_at";
        let params = params![
            scan.skill,
            &scan.content_sha256,
            &scan.rules,
            scan.findings.clone(),
            scan.released.clone(),
            scan.scanned_at,
        ];
        self.execute(sql, params).await.map(drop)
    }

    /// Lists the verdicts of skills in quarantine, at most `limit`.
    pub async fn skill_quarantine_list(&mut self, limit: u32) -> Result<Vec<SkillScan>, Error> {
        let sql = "SELECT * FROM skill_scans WHERE findings IS NOT NULL ORDER BY skill_id LIMIT $1";
        let rows = self.rows(sql, params![limit]).await?;
        rows.iter().map(skill_scan).collect()
    }

    /// Lists skills whose text the rules with this fingerprint have not judged, after `after`, oldest first.
    pub async fn skill_list_unscanned(
        &mut self,
        rules: &str,
        after: Option<SkillId>,
        limit: u32,
    ) -> Result<Vec<Skill>, Error> {
        let sql = "SELECT k.* FROM skills k LEFT JOIN skill_scans s ON s.skill_id = k.id
                   WHERE ($1 /*pg ::uuid */ IS NULL OR k.id > $1)
                   AND (s.rules IS NULL OR s.rules <> $2 OR s.content_sha256 <> k.content_sha256)
                   ORDER BY k.id LIMIT $3";
        self.list(&tables::SKILLS, sql, params![after, rules, limit], skill).await
    }
}

fn skill_version(row: &Row) -> Result<SkillVersion, Error> {
    Ok(SkillVersion {
        skill: row.id("skill_id")?,
        version: row.get("version")?,
        name: row.get("name")?,
        content: row.get("content")?,
        content_sha256: row.get("content_sha256")?,
        author: row.id_opt("author_id")?,
        reason: row.get("reason")?,
        created_at: row.get("created_at")?,
    })
}

fn skill_scan(row: &Row) -> Result<SkillScan, Error> {
    Ok(SkillScan {
        skill: row.id("skill_id")?,
        content_sha256: row.get("content_sha256")?,
        rules: row.get("rules")?,
        findings: row.get("findings")?,
        released: row.get("released")?,
        scanned_at: row.get("scanned_at")?,
    })
}
