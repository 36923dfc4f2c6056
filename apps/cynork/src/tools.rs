//! `tools`: what agents can call.

use clap::Subcommand;
use cynode_domain::policy::ToolScope;
use cynode_wire::tools::{
    Approval, ApproveTool, DefinitionView, ToolDetailView, ToolView, UpdateTool,
};
use similar::{ChangeTag, TextDiff};

use crate::app::App;
use crate::failure::Failure;
use crate::out::Look;
use crate::{age, table};

/// The least of a fingerprint that names a definition.
const MIN_FINGERPRINT: usize = 8;

/// See what agents can call, and turn it on and off.
#[derive(Debug, Subcommand)]
pub enum ToolsCommand {
    /// List every tool that you may see.
    List,
    /// Show one tool with its schemas.
    Get {
        /// The tool, such as `db.task.get`.
        tool: String,
    },
    /// Let a tool be called again. Administrators only.
    Enable {
        /// The tool.
        tool: String,
    },
    /// Refuse every call of a tool, whatever the rules say. Administrators only.
    Disable {
        /// The tool.
        tool: String,
    },
    /// Set where a tool may be called from.
    Scope {
        /// The tool.
        tool: String,
        /// sandbox, pm or both.
        scope: ToolScope,
    },
    /// Show what changed in a tool since it was approved; without a name, which tools changed.
    Review {
        /// The tool.
        tool: Option<String>,
    },
    /// Approve a changed tool as `tools review` showed it. Administrators only.
    Approve {
        /// The tool.
        tool: String,
        /// The fingerprint that `tools review` showed, or its first eight characters or more.
        fingerprint: String,
    },
}

/// Does what the command says.
pub(crate) async fn run(command: ToolsCommand, app: &mut App) -> Result<(), Failure> {
    let view = match command {
        ToolsCommand::List => return list(app, |_| true).await,
        ToolsCommand::Review { tool: None } => {
            return list(app, |tool| tool.approval == Approval::Changed).await;
        }
        ToolsCommand::Review { tool: Some(tool) } => {
            let view = app.session.call(async |c| c.tool_get(&tool).await).await?;
            return app.out.show(&view, |view, _| render_change(view));
        }
        ToolsCommand::Get { tool } => app.session.call(async |c| c.tool_get(&tool).await).await?,
        ToolsCommand::Enable { tool } => set(app, &tool, Some(true), None).await?,
        ToolsCommand::Disable { tool } => set(app, &tool, Some(false), None).await?,
        ToolsCommand::Scope { tool, scope } => set(app, &tool, None, Some(scope)).await?,
        ToolsCommand::Approve { tool, fingerprint } => approve(app, &tool, &fingerprint).await?,
    };
    app.out.show(&view, render)
}

async fn list(app: &mut App, wanted: impl Fn(&ToolView) -> bool) -> Result<(), Failure> {
    let mut tools = app.session.call(async |client| client.tool_list().await).await?;
    tools.retain(wanted);
    app.out.list(tools, render_all)
}

async fn set(
    app: &mut App,
    tool: &str,
    enabled: Option<bool>,
    scope: Option<ToolScope>,
) -> Result<ToolDetailView, Failure> {
    let body = UpdateTool { enabled, scope };
    app.session.call(async |client| client.tool_update(tool, &body).await).await
}

async fn approve(app: &mut App, tool: &str, read: &str) -> Result<ToolDetailView, Failure> {
    if read.len() < MIN_FINGERPRINT {
        return Err(Failure::Usage(format!("give {MIN_FINGERPRINT} characters or more of it")));
    }
    let view = app.session.call(async |client| client.tool_get(tool).await).await?;
    if !view.definition_sha256.starts_with(read) {
        let hint = format!("{tool} is not what you read: see `cynork tools review {tool}`");
        return Err(Failure::Conflict(hint));
    }
    let body = ApproveTool { definition_sha256: view.definition_sha256 };
    app.session.call(async |client| client.tool_approve(tool, &body).await).await
}

fn render_all(tools: &[ToolView], look: Look) -> String {
    let rows = tools.iter().map(|tool| {
        vec![
            tool.name.clone(),
            tool.server.clone(),
            tool.scope.to_string(),
            state(tool).to_owned(),
            table::short(&tool.description, 60),
        ]
    });
    table::rows(&["TOOL", "SERVER", "SCOPE", "STATE", "DESCRIPTION"], rows, look)
}

fn state(tool: &ToolView) -> &'static str {
    match (tool.enabled, tool.approval) {
        (false, _) => "disabled",
        (true, Approval::Changed) => "changed",
        (true, Approval::Approved) => "enabled",
    }
}

fn render(view: &ToolDetailView, look: Look) -> String {
    let tool = &view.tool;
    let pretty = |value| serde_json::to_string_pretty(value).ok();
    let pairs = [
        ("tool", Some(tool.name.clone())),
        ("server", Some(tool.server.clone())),
        ("scope", Some(tool.scope.to_string())),
        ("state", Some(state(tool).to_owned())),
        ("description", Some(tool.description.clone())),
        ("arguments", pretty(&view.definition.input_schema)),
        ("results", view.definition.output_schema.as_ref().and_then(pretty)),
        ("fingerprint", Some(view.definition_sha256.clone())),
        ("first seen", Some(age::ago(look.now, tool.first_seen_at))),
    ];
    table::pairs(&pairs, look)
}

/// The approved definition and the present one, line by line, where they differ.
fn render_change(view: &ToolDetailView) -> String {
    let Some(approved) = &view.approved else {
        return format!("{} is as it was approved", view.tool.name);
    };
    let (old, new) = (pretty(approved), pretty(&view.definition));
    let difference = TextDiff::from_lines(&old, &new);
    let changes: Vec<String> = difference
        .iter_all_changes()
        .filter(|change| change.tag() != ChangeTag::Equal)
        .map(|change| format!("{} {}", change.tag(), change.value().trim_end_matches('\n')))
        .collect();
    let read = format!("fingerprint {}", view.definition_sha256);
    table::harmless(&format!("{}\n{}\n{read}", view.tool.name, changes.join("\n")))
}

fn pretty(definition: &DefinitionView) -> String {
    serde_json::to_string_pretty(definition).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use cynode_domain::ids::ToolId;
    use serde_json::json;

    use super::*;

    fn detail() -> ToolDetailView {
        let definition = |description: &str| DefinitionView {
            title: None,
            description: description.to_owned(),
            input_schema: json!({"type": "object"}),
            output_schema: None,
        };
        ToolDetailView {
            tool: ToolView {
                id: ToolId::from(uuid::Uuid::from_u128(1)),
                name: "files.read".to_owned(),
                server: "files".to_owned(),
                scope: ToolScope::Both,
                enabled: true,
                approval: Approval::Changed,
                description: "reads a file, and sends it away".to_owned(),
                first_seen_at: DateTime::UNIX_EPOCH,
                updated_at: DateTime::UNIX_EPOCH,
            },
            definition: definition("reads a file, and sends it away"),
            definition_sha256: "ab".repeat(32),
            approved: Some(definition("reads a file")),
        }
    }

    #[test]
    fn a_changed_tool_shows_what_changed_and_what_to_approve() {
        let shown = render_change(&detail());

        assert_eq!(
            shown,
            format!(
                "files.read\n-   \"description\": \"reads a file\",\n+   \"description\": \"reads a file, \
                 and sends it away\",\nfingerprint {}",
                "ab".repeat(32)
            )
        );
    }

    #[test]
    fn a_line_that_comes_a_second_time_is_a_change() {
        let mut view = detail();
        let hidden =
            json!({ "type": "object", "required": ["path"], "allOf": [{ "required": ["path"] }] });
        let shown = json!({ "type": "object", "required": ["path"], "allOf": [{}] });
        view.definition.input_schema = hidden;
        view.approved.as_mut().unwrap().input_schema = shown;

        let text = render_change(&view);

        assert!(
            text.lines().any(|line| line.contains("+ ") && line.contains("\"path\"")),
            "{text}"
        );
    }

    #[test]
    fn tools_are_listed_with_scope_and_state() {
        let look = Look { now: DateTime::UNIX_EPOCH, width: None };

        let text = render_all(&[detail().tool], look);

        assert!(text.lines().any(|line| {
            let words: Vec<_> = line.split_whitespace().take(4).collect();
            words == ["files.read", "files", "both", "changed"]
        }));
    }
}
