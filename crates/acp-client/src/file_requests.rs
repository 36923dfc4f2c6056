//! Files that an agent reads and writes through this client: those of the workspace, and no others.

use cynode_agent_job::text_file::{FileError, read_text, write_text};
use cynode_agent_job::workspace::{PathError, Workspace};
use serde_json::{Value, json};

use crate::message::{ErrorObject, INTERNAL_ERROR, INVALID_PARAMS, NOT_FOUND};
use crate::protocol::{ReadTextFile, WriteTextFile};

/// The largest file that is read or written.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// Reads a text file, or lines of it.
pub(crate) async fn read_file(
    workspace: &Workspace,
    request: ReadTextFile,
) -> Result<Value, ErrorObject> {
    run_blocking(workspace, move |workspace| {
        let path = workspace.resolve(&request.path)?;
        let content = read_text(&path, MAX_FILE_BYTES)?;
        Ok(json!({ "content": select_lines(content, request.line, request.limit) }))
    })
    .await
}

/// Creates or replaces a text file.
pub(crate) async fn write_file(
    workspace: &Workspace,
    request: WriteTextFile,
) -> Result<Value, ErrorObject> {
    run_blocking(workspace, move |workspace| {
        let path = workspace.resolve(&request.path)?;
        let bytes = u64::try_from(request.content.len()).unwrap_or(u64::MAX);
        if bytes > MAX_FILE_BYTES {
            let (path, limit) = (request.path, MAX_FILE_BYTES);
            return Err(FileRequestError::File(FileError::TooLarge { path, bytes, limit }));
        }
        write_text(&path, &request.content)?;
        Ok(json!({}))
    })
    .await
}

#[derive(Debug)]
enum FileRequestError {
    Path(PathError),
    File(FileError),
}

impl From<PathError> for FileRequestError {
    fn from(error: PathError) -> Self {
        Self::Path(error)
    }
}

impl From<FileError> for FileRequestError {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

impl FileRequestError {
    /// The error for the agent, without the advice that is meant for the tools of another agent.
    fn to_error(&self) -> ErrorObject {
        let (code, message) = match self {
            Self::Path(error) => (INVALID_PARAMS, error.to_string()),
            Self::File(FileError::NotFound(path)) => (NOT_FOUND, format!("{path} does not exist")),
            Self::File(FileError::IsDirectory(path)) => {
                (INVALID_PARAMS, format!("{path} is a directory"))
            }
            Self::File(FileError::NotRegular(path)) => {
                (INVALID_PARAMS, format!("{path} is not a regular file"))
            }
            Self::File(FileError::Binary { path, .. } | FileError::NotUtf8(path)) => {
                (INVALID_PARAMS, format!("{path} is not a text file"))
            }
            Self::File(FileError::TooLarge { path, bytes, limit }) => {
                let message = format!("{path} has {bytes} bytes, more than the limit of {limit}");
                (INVALID_PARAMS, message)
            }
            Self::File(FileError::Io { path, cause }) => {
                (INTERNAL_ERROR, format!("{path}: {cause}"))
            }
        };
        ErrorObject { code, message }
    }
}

async fn run_blocking(
    workspace: &Workspace,
    access: impl FnOnce(&Workspace) -> Result<Value, FileRequestError> + Send + 'static,
) -> Result<Value, ErrorObject> {
    let workspace = workspace.clone();
    match tokio::task::spawn_blocking(move || access(&workspace)).await {
        Ok(result) => result.map_err(|error| error.to_error()),
        Err(error) => Err(ErrorObject { code: INTERNAL_ERROR, message: error.to_string() }),
    }
}

/// Returns `limit` lines from line `first` (from 1).
fn select_lines(content: String, first: Option<usize>, limit: Option<usize>) -> String {
    if first.is_none() && limit.is_none() {
        return content;
    }
    let skipped = first.unwrap_or(1).saturating_sub(1);
    content.split_inclusive('\n').skip(skipped).take(limit.unwrap_or(usize::MAX)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_from_one() {
        let select = |first, limit| select_lines("a\nb\nc".to_owned(), first, limit);
        assert_eq!(select(None, None), "a\nb\nc");
        assert_eq!(select(Some(2), Some(1)), "b\n");
        assert_eq!(select(Some(3), None), "c");
        assert_eq!(select(Some(9), Some(9)), "");
        assert_eq!(select(Some(0), Some(1)), "a\n");
    }
}
