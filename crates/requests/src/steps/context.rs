//! Reads the project: a job lists its files and the texts that say how it is built.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use cynode_domain::ids::TaskId;
use cynode_domain::plan::InputMode;
use cynode_domain::status::RequestPhase;
use cynode_planning::context::{MAX_READ_BYTES, ProjectFiles, READ_FILES, derive_context};
use cynode_wire::tasks::CreateTask;
use serde_json::json;

use super::Step;
use crate::RequestError;
use crate::snapshot::CONTEXT;

/// The file with the paths of the project.
const PATHS_FILE: &str = "paths.txt";
/// The longest list of paths.
const MAX_PATHS_BYTES: usize = 4 * 1024 * 1024;

impl Step<'_> {
    /// The task that reads the project. It runs nothing of the repository.
    pub(super) fn context_request(&self) -> CreateTask {
        let mut script = format!(
            "set -eu\n\
             find . -path ./.git -prune -o -type f -print | sed 's|^\\./||' | LC_ALL=C sort | head -n 20000 > \"$CYNODE_ARTIFACTS_DIR/{PATHS_FILE}\"\n\
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
            retry_interrupted: true,
            ..self.child_request(CONTEXT)
        }
    }

    /// Derives the context from the files that the job left, and goes on to planning.
    pub(super) async fn read_context(mut self, child: TaskId) -> Result<(), RequestError> {
        let owner = self.owner().await?;
        let paths = self.read_artifact(&owner, child, PATHS_FILE, MAX_PATHS_BYTES).await?;
        let paths: Vec<String> = paths
            .unwrap_or_default()
            .lines()
            .filter(|path| !path.is_empty())
            .map(str::to_owned)
            .collect();
        let mut texts = BTreeMap::new();
        for name in READ_FILES.iter().filter(|name| paths.iter().any(|path| path == *name)) {
            let path = format!("files/{name}");
            if let Some(text) = self.read_artifact(&owner, child, &path, MAX_READ_BYTES).await? {
                texts.insert((*name).to_owned(), text);
            }
        }
        let context = derive_context(&ProjectFiles { paths, texts });
        let data = json!({
            "project_kind": context.kind, "files": context.file_count, "architecture": context.architecture,
            "test_commands": context.test_commands,
        });
        self.snapshot.request.state.context = Some(context);
        self.snapshot.request.phase =
            self.snapshot.request.phase.advance(RequestPhase::Planning)?;
        self.save("request.context_read", data).await
    }
}
