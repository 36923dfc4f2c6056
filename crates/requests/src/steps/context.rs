//! Reads the project: a job lists its files and the texts that say how it is built.
//!
//! What was derived from a tree, and what a model added to it, is cached for the project: a request on the same tree reads no
//! files and asks no model.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use cynode_domain::ids::TaskId;
use cynode_domain::plan::InputMode;
use cynode_domain::project_context::{ProjectContext, TreeId};
use cynode_domain::status::RequestPhase;
use cynode_planning::context::{
    CONTEXT_RULES, MAX_READ_BYTES, ProjectFiles, READ_FILES, derive_context,
};
use cynode_resources::Caller;
use cynode_wire::tasks::CreateTask;
use serde_json::json;

use super::Step;
use crate::RequestError;
use crate::snapshot::CONTEXT;

/// The file with the paths of the project.
const PATHS_FILE: &str = "paths.txt";
/// The file with the hash of the tree; empty in an image without git.
const TREE_FILE: &str = "tree.txt";
const MAX_TREE_BYTES: usize = 100;
/// The longest list of paths.
const MAX_PATHS_BYTES: usize = 4 * 1024 * 1024;

impl Step<'_> {
    /// The task that reads the project. It runs nothing of the repository.
    pub(super) fn context_request(&self) -> CreateTask {
        let mut script = format!(
            "set -eu\n\
             find . -path ./.git -prune -o -type f -print | sed 's|^\\./||' | LC_ALL=C sort | head -n 20000 > \"$CYNODE_ARTIFACTS_DIR/{PATHS_FILE}\"\n\
             git rev-parse --verify --quiet 'HEAD^{{tree}}' > \"$CYNODE_ARTIFACTS_DIR/{TREE_FILE}\" || true\n\
             mkdir -p \"$CYNODE_ARTIFACTS_DIR/files\"\n"
        );
        for name in READ_FILES {
            let _ = writeln!(
                script,
                "if [ -f {name} ] && [ ! -L {name} ]; then head -c {MAX_READ_BYTES} {name} > \"$CYNODE_ARTIFACTS_DIR/files/{name}\"; fi"
            );
        }
        CreateTask {
            input_mode: InputMode::Script,
            prompt: script,
            expected_outputs: vec![PATHS_FILE.to_owned()],
            ..self.child_request(CONTEXT)
        }
    }

    /// Takes the context of the tree from the cache, or derives it from the files that the job left; goes on to planning.
    pub(super) async fn read_context(mut self, child: TaskId) -> Result<(), RequestError> {
        let owner = self.owner().await?;
        let tree = self.read_artifact(&owner, child, TREE_FILE, MAX_TREE_BYTES).await?;
        let tree: Option<TreeId> = tree.and_then(|text| text.trim().parse().ok());
        let cached = self.cached_context(tree.as_ref()).await?;
        let is_cached = cached.is_some();
        let context = match cached {
            Some(context) => context,
            None => self.derive_context(&owner, child).await?,
        };
        let data = json!({
            "project_kind": context.kind, "files": context.file_count, "architecture": context.architecture,
            "test_commands": context.test_commands, "tree": tree, "is_cached": is_cached,
        });
        let project = self.snapshot.task.spec.project;
        let request = &mut self.snapshot.request;
        request.state.context = Some(context.clone());
        request.state.context_tree.clone_from(&tree);
        request.phase = request.phase.advance(RequestPhase::Planning)?;
        self.save_with("request.context_read", data, move |tx| {
            Box::pin(async move {
                if let Some(tree) = tree {
                    tx.project_context_put(project, &tree, CONTEXT_RULES, &context).await?;
                }
                Ok(())
            })
        })
        .await
    }

    async fn cached_context(
        &self,
        tree: Option<&TreeId>,
    ) -> Result<Option<ProjectContext>, RequestError> {
        let Some(tree) = tree.cloned() else { return Ok(None) };
        let project = self.snapshot.task.spec.project;
        let read = self.service.store.read(move |tx| {
            Box::pin(async move { tx.project_context_get(project, &tree, CONTEXT_RULES).await })
        });
        Ok(read.await?)
    }

    async fn derive_context(
        &self,
        owner: &Caller,
        child: TaskId,
    ) -> Result<ProjectContext, RequestError> {
        let paths = self.read_artifact(owner, child, PATHS_FILE, MAX_PATHS_BYTES).await?;
        let paths: Vec<String> = paths
            .unwrap_or_default()
            .lines()
            .filter(|path| !path.is_empty())
            .map(str::to_owned)
            .collect();
        let mut texts = BTreeMap::new();
        for name in READ_FILES.iter().filter(|name| paths.iter().any(|path| path == *name)) {
            let path = format!("files/{name}");
            if let Some(text) = self.read_artifact(owner, child, &path, MAX_READ_BYTES).await? {
                texts.insert((*name).to_owned(), text);
            }
        }
        Ok(derive_context(&ProjectFiles { paths, texts }))
    }
}
