//! Contexts of projects, cached by the hash of the tree that they were derived from.
//!
//! Invariants: a context belongs to one project and one tree, and a project has at most [`MAX_PROJECT_CONTEXTS`]. A row that
//! cannot be decoded, or that other rules derived, is no cached context; deriving it again replaces it.

use cynode_domain::ids::ProjectId;
use cynode_domain::project_context::{ProjectContext, TreeId};
use cynode_sql::params;
use serde_json::{Value, json};

use crate::{Error, Tx};

/// The contexts of one project that stay; the ones that were not used for longest are removed.
pub const MAX_PROJECT_CONTEXTS: u32 = 16;
/// A longer context is not stored.
const MAX_CONTEXT_BYTES: usize = 256 * 1024;

impl Tx {
    /// Returns the context that these rules derived from a tree of a project.
    pub async fn project_context_get(
        &mut self,
        project: ProjectId,
        tree: &TreeId,
        rules: u32,
    ) -> Result<Option<ProjectContext>, Error> {
        let sql = "SELECT context FROM project_contexts
                   WHERE project_id = $1 AND tree = $2 AND rules = $3";
        let row = self.row(sql, params![project, tree.as_str(), rules]).await?;
        let stored = row.and_then(|row| row.get::<Value>("context").ok());
        Ok(stored.and_then(|context| serde_json::from_value(context).ok()))
    }

    /// Stores the context of a tree, as the one of its project that was used last. One that is too long is not stored.
    pub async fn project_context_put(
        &mut self,
        project: ProjectId,
        tree: &TreeId,
        rules: u32,
        context: &ProjectContext,
    ) -> Result<(), Error> {
        let context = json!(context);
        if context.to_string().len() > MAX_CONTEXT_BYTES {
            return Ok(());
        }
        let sql = "INSERT INTO project_contexts (project_id, tree, rules, context, used_at)
                   VALUES ($1, $2, $3, $4, cynode_now())
                   ON CONFLICT (project_id, tree) DO UPDATE SET rules = excluded.rules,
                       context = excluded.context, used_at = excluded.used_at";
        self.execute(sql, params![project, tree.as_str(), rules, context]).await?;
        let sql = "DELETE FROM project_contexts WHERE project_id = $1 AND tree NOT IN (
                       SELECT kept.tree FROM project_contexts kept WHERE kept.project_id = $1
                       ORDER BY kept.used_at DESC, kept.tree LIMIT $2)";
        self.execute(sql, params![project, MAX_PROJECT_CONTEXTS]).await.map(drop)
    }
}
