//! What is known of a project before its work is cut up: what the files of the task tell, and what its
//! owner wrote about it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cynode_wire::handoff::{HandoffContext, TaskFacts};
use serde_json::{Value, json};

use crate::AgentError;
use crate::brain::decisions::{AnalyseCodebase, ProjectSketch};
use crate::tools;
use crate::work::Work;

/// The file that says that a project is to be made from its brief.
const BRIEF: &str = "PROJECT-BRIEF.md";
/// Files in which a project describes itself to agents, the first that is there counts.
const GUIDES: [&str; 2] = ["CLAUDE.md", "AGENTS.md"];

/// What is known of a project.
pub(super) struct Known {
    /// Whether there is a brief at its root.
    pub(super) has_brief: bool,
    /// All of it in words; empty where nothing is known.
    pub(super) words: String,
}

/// Gathers what is known.
pub(super) async fn known(
    work: &mut Work,
    context: &HandoffContext,
    task: &TaskFacts,
) -> Result<Known, AgentError> {
    let files = files(work, task).await?;
    let mut words = vec![];
    if let Some(project) = &context.project {
        words.push(project.name.clone());
        words.extend(project.description.clone());
    }
    let has_brief = files.iter().any(|path| path == BRIEF);
    if !files.is_empty() {
        let guide = GUIDES.iter().find(|name| files.iter().any(|path| path == *name));
        let guide = match guide {
            Some(path) => text(work, task, path).await?,
            None => None,
        };
        let sketch = work.think(&AnalyseCodebase { files, guide }).await?;
        words.push(told(&sketch));
    }
    Ok(Known { has_brief, words: words.join("\n") })
}

async fn files(work: &Work, task: &TaskFacts) -> Result<Vec<String>, AgentError> {
    let arguments = json!({ "task_id": task.id });
    let page: Value = tools::call(work.tools.as_ref(), "artifact.list", arguments).await?;
    let items = page["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    Ok(items.iter().filter_map(|file| file["path"].as_str()).map(str::to_owned).collect())
}

/// The text of a file; nothing if it is gone, too long or no text.
async fn text(work: &Work, task: &TaskFacts, path: &str) -> Result<Option<String>, AgentError> {
    let arguments = json!({ "task_id": task.id, "path": path });
    let file: Value = match tools::call(work.tools.as_ref(), "artifact.get", arguments).await {
        Ok(file) => file,
        Err(AgentError::Tool { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let bytes = STANDARD.decode(file["content_bytes_base64"].as_str().unwrap_or_default()).ok();
    Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok()))
}

fn told(sketch: &ProjectSketch) -> String {
    let tests = if sketch.has_tests { "it has tests" } else { "no tests are known" };
    format!(
        "{}: {}; {tests}; built with: {}",
        sketch.project_type,
        sketch.architecture,
        sketch.build_commands.join(", ")
    )
}
