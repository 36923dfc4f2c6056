//! Loads the files that an analyst judges, through tools and within limits.

use cynode_wire::artifacts::{OutputDiff, OutputText, OutputView};
use cynode_wire::handoff::{TaskFacts, VerifyHandoff};
use cynode_wire::tool_calls::{ArtifactFormat, ArtifactGet, ArtifactList};
use serde::Deserialize;

use crate::HandoffAgentError;
use crate::brain::decisions::EvidenceFile;
use crate::session::HandoffSession;
use crate::tools;

/// The most files, bytes per file, and bytes in total.
const MAX_FILES: usize = 8;
const MAX_FILE_BYTES: usize = 8 * 1024;
const MAX_BYTES: usize = 24 * 1024;
/// The most bytes of a diff.
const MAX_DIFF_BYTES: usize = 4 * 1024;

/// The result of `artifact.list`.
#[derive(Deserialize)]
struct ArtifactListing {
    items: Vec<OutputView>,
}

/// Reads the evidence files: first those that the criteria or the task name, then by size.
pub(super) async fn read_evidence_files(
    work: &HandoffSession,
    task: &TaskFacts,
    body: &VerifyHandoff,
) -> Result<Vec<EvidenceFile>, HandoffAgentError> {
    let of_job = ArtifactList { task_id: task.id, job_id: Some(body.job_id) };
    let ArtifactListing { items } = match tools::call_tool(work.tools.as_ref(), &of_job).await {
        Ok(files) => files,
        Err(HandoffAgentError::Tool { .. }) => return Ok(vec![]),
        Err(error) => return Err(error),
    };
    let mut files: Vec<(bool, OutputView)> =
        items.into_iter().map(|file| (is_named(&file.path, task, body), file)).collect();
    files.sort_by_key(|(is_named, file)| (!is_named, file.size_bytes));
    let (mut exhibits, mut left) = (vec![], MAX_BYTES);
    for (is_named, file) in files.into_iter().take(MAX_FILES) {
        if left == 0 {
            break;
        }
        let exhibit = read_evidence_file(work, of_job, &file.path, is_named, left).await?;
        left = left.saturating_sub(exhibit.content.len() + exhibit.diff.len());
        exhibits.push(exhibit);
    }
    Ok(exhibits)
}

/// Whether a criterion or the request names the file.
fn is_named(path: &str, task: &TaskFacts, body: &VerifyHandoff) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let texts = body.criteria.iter().map(String::as_str).chain([task.prompt.as_str()]);
    texts.into_iter().any(|text| text.contains(name))
}

async fn read_evidence_file(
    work: &HandoffSession,
    of_job: ArtifactList,
    path: &str,
    is_named: bool,
    left: usize,
) -> Result<EvidenceFile, HandoffAgentError> {
    let ArtifactList { task_id, job_id } = of_job;
    let get = |format: ArtifactFormat, max_bytes: usize| {
        let (path, max_bytes) = (path.to_owned(), Some(max_bytes));
        ArtifactGet { task_id, path, job_id, format, max_bytes }
    };
    let call = get(ArtifactFormat::Text, MAX_FILE_BYTES.min(left));
    let mut exhibit = EvidenceFile { path: path.to_owned(), ..EvidenceFile::default() };
    match tools::call_tool::<_, OutputText>(work.tools.as_ref(), &call).await {
        Ok(file) => {
            (exhibit.content, exhibit.is_cut) = (file.text, file.is_cut);
            if file.is_binary {
                exhibit.note = format!("binary, {} bytes", file.output.size_bytes);
            }
        }
        Err(HandoffAgentError::Tool { message, .. }) => {
            exhibit.note = format!("it could not be read: {message}");
            return Ok(exhibit);
        }
        Err(error) => return Err(error),
    }
    if is_named && exhibit.note.is_empty() {
        let call = get(ArtifactFormat::Diff, MAX_DIFF_BYTES);
        match tools::call_tool::<_, OutputDiff>(work.tools.as_ref(), &call).await {
            // Without an older file the diff equals the content.
            Ok(OutputDiff { against: Some(against), diff, .. }) => {
                (exhibit.against, exhibit.diff) = (against, diff);
            }
            Ok(OutputDiff { against: None, .. }) | Err(HandoffAgentError::Tool { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(exhibit)
}
