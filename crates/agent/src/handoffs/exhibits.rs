//! The files that an analyst reads before it judges, through its tools and within limits.

use cynode_wire::artifacts::{OutputDiff, OutputText, OutputView};
use cynode_wire::handoff::{TaskFacts, VerifyHandoff};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::AgentError;
use crate::brain::decisions::Exhibit;
use crate::tools;
use crate::work::Work;

const LIST: &str = "artifact.list";
const GET: &str = "artifact.get";
/// How many files are read, how much of each, and how much of all.
const MAX_FILES: usize = 8;
const MAX_FILE_BYTES: usize = 8 * 1024;
const MAX_BYTES: usize = 24 * 1024;
/// How many bytes of a diff are read.
const MAX_DIFF_BYTES: usize = 4 * 1024;

/// What a list of files looks like.
#[derive(Deserialize)]
struct Files {
    items: Vec<OutputView>,
}

/// Reads the files that count as evidence: those that the criteria or the task name first, then small ones.
pub(super) async fn read_exhibits(
    work: &Work,
    task: &TaskFacts,
    body: &VerifyHandoff,
) -> Result<Vec<Exhibit>, AgentError> {
    let of_job = json!({ "task_id": task.id, "job_id": body.job_id });
    let Files { items } = match tools::call(work.tools.as_ref(), LIST, of_job.clone()).await {
        Ok(files) => files,
        Err(AgentError::Tool { .. }) => return Ok(vec![]),
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
        let exhibit = read_exhibit(work, &of_job, (&file.path, is_named), left).await?;
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

async fn read_exhibit(
    work: &Work,
    of_job: &Value,
    (path, is_named): (&str, bool),
    left: usize,
) -> Result<Exhibit, AgentError> {
    let arguments = |format: &str, max_bytes: usize| {
        let mut arguments = of_job.clone();
        arguments["path"] = path.into();
        arguments["format"] = format.into();
        arguments["max_bytes"] = max_bytes.into();
        arguments
    };
    let asked = arguments("text", MAX_FILE_BYTES.min(left));
    let mut exhibit = Exhibit { path: path.to_owned(), ..Exhibit::default() };
    match tools::call::<OutputText>(work.tools.as_ref(), GET, asked).await {
        Ok(file) => {
            (exhibit.content, exhibit.is_cut) = (file.text, file.is_cut);
            if file.is_binary {
                exhibit.note = format!("binary, {} bytes", file.output.size_bytes);
            }
        }
        Err(AgentError::Tool { message, .. }) => {
            exhibit.note = format!("it could not be read: {message}");
            return Ok(exhibit);
        }
        Err(error) => return Err(error),
    }
    if is_named && exhibit.note.is_empty() {
        let asked = arguments("diff", MAX_DIFF_BYTES);
        match tools::call::<OutputDiff>(work.tools.as_ref(), GET, asked).await {
            // Without an older file the diff says what the content says.
            Ok(OutputDiff { against: Some(against), diff, .. }) => {
                (exhibit.against, exhibit.diff) = (against, diff);
            }
            Ok(OutputDiff { against: None, .. }) | Err(AgentError::Tool { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(exhibit)
}
