//! The tools of the agent.
//!
//! Start at [`Toolbox::execute`]. Each file below holds one tool; files are read and written outside of the
//! asynchronous threads. A failure is an observation for the model; only a rejection by the gateway ends the job.

mod closest_lines;
mod edit_file;
mod edit_match;
mod list_files;
mod read_file;
mod run_command;
mod search;

use std::sync::Arc;

use cynode_agent_job::text_file::{FileError, read_text, write_text};
use cynode_agent_job::workspace::{PathError, Workspace};
use cynode_client::McpClientError;

use crate::action::{ToolAction, WriteFile};
use crate::granted_tools::GrantedTools;
use crate::observation::{OBSERVATION_BYTES, Observation};

pub(crate) use edit_file::MAX_EDITED_BYTES;

/// Executes actions.
#[derive(Debug)]
pub(crate) struct Toolbox {
    workspace: Arc<Workspace>,
    /// Bytes of a command's output that are kept.
    max_output_bytes: usize,
    granted: Option<GrantedTools>,
}

/// Why a tool cannot do what it is asked; the text is for the model.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ToolError {
    #[error(transparent)]
    Path(#[from] PathError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{0}")]
    Rejected(String),
    /// With untrusted text that helps to correct the action.
    #[error("{message}")]
    WithData { message: String, data: String },
}

impl From<ToolError> for Observation {
    fn from(error: ToolError) -> Self {
        match error {
            ToolError::WithData { message, data } => Self::failed(message).with_data(data),
            error @ (ToolError::Path(_) | ToolError::File(_) | ToolError::Rejected(_)) => {
                Self::failed(error.to_string())
            }
        }
    }
}

impl Toolbox {
    pub(crate) fn new(
        workspace: Workspace,
        max_output_bytes: u32,
        granted: Option<GrantedTools>,
    ) -> Self {
        let max_output_bytes =
            usize::try_from(max_output_bytes).unwrap_or(usize::MAX).min(OBSERVATION_BYTES);
        Self { workspace: Arc::new(workspace), max_output_bytes, granted }
    }

    pub(crate) fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    pub(crate) fn granted_tools(&self) -> Option<&GrantedTools> {
        self.granted.as_ref()
    }

    /// Executes one action. Fails only if the gateway rejects a call, which is final.
    pub(crate) async fn execute(&self, action: &ToolAction) -> Result<Observation, McpClientError> {
        Ok(match action {
            ToolAction::RunCommand(run) => {
                run_command::run_command(&self.workspace, run, self.max_output_bytes).await
            }
            ToolAction::CallTool(call) => match &self.granted {
                Some(granted) => granted.call(call).await?,
                None => Observation::failed("no tools are granted to this job"),
            },
            ToolAction::ReadFile(_)
            | ToolAction::Search(_)
            | ToolAction::ListFiles(_)
            | ToolAction::EditFile(_)
            | ToolAction::WriteFile(_) => self.execute_blocking(action.clone()).await,
        })
    }

    async fn execute_blocking(&self, action: ToolAction) -> Observation {
        let workspace = Arc::clone(&self.workspace);
        let executed = tokio::task::spawn_blocking(move || match action {
            ToolAction::ReadFile(read) => read_file::read_file(&workspace, &read),
            ToolAction::Search(search) => search::search(&workspace, &search),
            ToolAction::ListFiles(list) => list_files::list_files(&workspace, &list),
            ToolAction::EditFile(edit) => edit_file::edit_file(&workspace, &edit),
            ToolAction::WriteFile(write) => write_file(&workspace, &write),
            ToolAction::RunCommand(_) | ToolAction::CallTool(_) => {
                Err(ToolError::Rejected("not a tool for files".to_owned()))
            }
        });
        match executed.await {
            Ok(result) => result.unwrap_or_else(Observation::from),
            Err(error) => Observation::failed(format!("the tool failed: {error}")),
        }
    }
}

/// Creates or replaces a whole file.
fn write_file(workspace: &Workspace, write: &WriteFile) -> Result<Observation, ToolError> {
    let path = workspace.resolve(&write.path)?;
    if read_text(&path, MAX_EDITED_BYTES).is_ok_and(|content| content == write.content) {
        return Ok(Observation::succeeded(format!(
            "{} already has this content; nothing was changed",
            path.relative()
        )));
    }
    write_text(&path, &write.content)?;
    let (bytes, lines) = (write.content.len(), write.content.lines().count());
    Ok(Observation::changed(format!("wrote {}: {lines} lines, {bytes} bytes", path.relative())))
}

#[cfg(test)]
mod tests;
