//! Gathers facts about a project before planning: from the files of the task and the project's description.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cynode_domain::project_context::ProjectContext;
use cynode_wire::handoff::{HandoffContext, TaskFacts};
use cynode_wire::tool_calls::{ArtifactGet, ArtifactList};
use serde_json::Value;

use crate::HandoffAgentError;
use crate::brain::decisions::{AnalyseCodebase, ProjectSketch};
use crate::session::HandoffSession;
use crate::tools;

/// The file that marks a new project with a brief.
const BRIEF: &str = "PROJECT-BRIEF.md";
/// Files that describe a project to agents; the first existing one is used.
const GUIDES: [&str; 2] = ["CLAUDE.md", "AGENTS.md"];

/// Facts about a project.
pub(super) struct ProjectBackground {
    pub(super) has_brief: bool,
    /// All facts as text; empty if there are none.
    pub(super) description: String,
}

/// Gathers the facts.
pub(super) async fn gather_background(
    work: &mut HandoffSession,
    context: &HandoffContext,
    task: &TaskFacts,
) -> Result<ProjectBackground, HandoffAgentError> {
    let files = list_files(work, task).await?;
    let mut words = vec![];
    if let Some(project) = &context.project {
        words.push(project.name.clone());
        words.extend(project.description.clone());
    }
    let has_brief = files.iter().any(|path| path == BRIEF);
    if !files.is_empty() {
        let guide = GUIDES.iter().find(|name| files.iter().any(|path| path == *name));
        let guide = match guide {
            Some(path) => read_file(work, task, path).await?,
            None => None,
        };
        let sketch = work.decide(&AnalyseCodebase { files, guide }).await?;
        words.push(sketch_text(&sketch));
    }
    Ok(ProjectBackground { has_brief, description: words.join("\n") })
}

async fn list_files(
    work: &HandoffSession,
    task: &TaskFacts,
) -> Result<Vec<String>, HandoffAgentError> {
    let call = ArtifactList { task_id: task.id, job_id: None };
    let page: Value = tools::call_tool(work.tools.as_ref(), &call).await?;
    let items = page["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    Ok(items.iter().filter_map(|file| file["path"].as_str()).map(str::to_owned).collect())
}

/// Reads a file; `None` if it is missing, too large or not text.
async fn read_file(
    work: &HandoffSession,
    task: &TaskFacts,
    path: &str,
) -> Result<Option<String>, HandoffAgentError> {
    let call = ArtifactGet::whole_file(task.id, path.to_owned());
    let file: Value = match tools::call_tool(work.tools.as_ref(), &call).await {
        Ok(file) => file,
        Err(HandoffAgentError::Tool { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let bytes = STANDARD.decode(file["content_bytes_base64"].as_str().unwrap_or_default()).ok();
    Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok()))
}

/// The facts of a context that a decision depends on, as text.
pub(super) fn describe_context(context: &ProjectContext) -> String {
    let tests = if context.has_tests { "it has tests" } else { "no tests are known" };
    format!(
        "{}, {} files: {}; {tests}; built with: {}",
        context.kind,
        context.file_count,
        context.architecture,
        context.build_commands.join(", ")
    )
}

fn sketch_text(sketch: &ProjectSketch) -> String {
    let tests = if sketch.has_tests { "it has tests" } else { "no tests are known" };
    format!(
        "{}: {}; {tests}; built with: {}",
        sketch.project_type,
        sketch.architecture,
        sketch.build_commands.join(", ")
    )
}
