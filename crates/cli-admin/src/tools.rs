//! `tools`: the tools that agents can call.

use clap::Subcommand;
use cynode_domain::policy::ToolScope;
use cynode_wire::tools::{
    Approval, ApproveTool, DefinitionView, ToolDetailView, ToolView, UpdateTool,
};
use similar::{ChangeTag, TextDiff};

use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::out::RenderContext;
use cynode_cli::{relative_time, table};

/// Minimum length of a fingerprint prefix.
const MIN_FINGERPRINT: usize = 8;

/// List the tools that agents can call; enable, disable and approve them.
#[derive(Debug, Subcommand)]
pub enum ToolsCommand {
    /// List the tools that you may see.
    List,
    /// Show one tool with its schemas.
    Get {
        /// The tool, such as `db.task.get`.
        tool: String,
    },
    /// Enable a tool. Administrators only.
    Enable {
        /// The tool.
        tool: String,
    },
    /// Disable a tool; calls are rejected regardless of access rules. Administrators only.
    Disable {
        /// The tool.
        tool: String,
    },
    /// Set who may call a tool.
    Scope {
        /// The tool.
        tool: String,
        /// The scope: sandbox, pm or both.
        scope: ToolScope,
    },
    /// Show what changed in a tool since its approval; without a name, list the changed tools.
    Review {
        /// The tool [default: all changed tools].
        tool: Option<String>,
    },
    /// Approve a new or changed tool as shown by `tools review`. Administrators only.
    Approve {
        /// The tool.
        tool: String,
        /// The fingerprint from `tools review`, at least its first eight characters.
        fingerprint: String,
    },
}

pub async fn run(command: ToolsCommand, app: &mut CliContext) -> Result<(), CliFailure> {
    let view = match command {
        ToolsCommand::List => return list(app, |_| true).await,
        ToolsCommand::Review { tool: None } => {
            return list(app, |tool| tool.approval != Approval::Approved).await;
        }
        ToolsCommand::Review { tool: Some(tool) } => {
            let view = app.session.call(async |c| c.tool_get(&tool).await).await?;
            return app.out.show(&view, |view, _| render_change(view));
        }
        ToolsCommand::Get { tool } => app.session.call(async |c| c.tool_get(&tool).await).await?,
        ToolsCommand::Enable { tool } => update_tool(app, &tool, Some(true), None).await?,
        ToolsCommand::Disable { tool } => update_tool(app, &tool, Some(false), None).await?,
        ToolsCommand::Scope { tool, scope } => update_tool(app, &tool, None, Some(scope)).await?,
        ToolsCommand::Approve { tool, fingerprint } => approve(app, &tool, &fingerprint).await?,
    };
    app.out.show(&view, render)
}

async fn list(app: &mut CliContext, filter: impl Fn(&ToolView) -> bool) -> Result<(), CliFailure> {
    let mut tools = app.session.call(async |client| client.tool_list().await).await?;
    tools.retain(filter);
    app.out.list(tools, render_all)
}

async fn update_tool(
    app: &mut CliContext,
    tool: &str,
    enabled: Option<bool>,
    scope: Option<ToolScope>,
) -> Result<ToolDetailView, CliFailure> {
    let body = UpdateTool { enabled, scope };
    app.session.call(async |client| client.tool_update(tool, &body).await).await
}

async fn approve(
    app: &mut CliContext,
    tool: &str,
    read: &str,
) -> Result<ToolDetailView, CliFailure> {
    if read.len() < MIN_FINGERPRINT {
        return Err(CliFailure::Usage(format!(
            "give at least {MIN_FINGERPRINT} characters of the fingerprint"
        )));
    }
    let view = app.session.call(async |client| client.tool_get(tool).await).await?;
    if !view.definition_sha256.starts_with(read) {
        let hint =
            format!("{tool} has changed since your review; see `cynork tools review {tool}`");
        return Err(CliFailure::Conflict(hint));
    }
    let body = ApproveTool { definition_sha256: view.definition_sha256 };
    app.session.call(async |client| client.tool_approve(tool, &body).await).await
}

fn render_all(tools: &[ToolView], ctx: RenderContext) -> String {
    let rows = tools.iter().map(|tool| {
        vec![
            tool.name.clone(),
            tool.server.clone(),
            tool.scope.to_string(),
            format_state(tool).to_owned(),
            table::truncate(&tool.description, 60),
        ]
    });
    table::render_table(&["TOOL", "SERVER", "SCOPE", "STATE", "DESCRIPTION"], rows, ctx)
}

fn format_state(tool: &ToolView) -> &'static str {
    match (tool.enabled, tool.approval) {
        (false, _) => "disabled",
        (true, Approval::Changed) => "changed",
        (true, Approval::New) => "new",
        (true, Approval::Approved) => "enabled",
    }
}

fn render(view: &ToolDetailView, ctx: RenderContext) -> String {
    let tool = &view.tool;
    let pretty = |value| serde_json::to_string_pretty(value).ok();
    let pairs = [
        ("tool", Some(tool.name.clone())),
        ("server", Some(tool.server.clone())),
        ("scope", Some(tool.scope.to_string())),
        ("state", Some(format_state(tool).to_owned())),
        ("description", Some(tool.description.clone())),
        ("arguments", pretty(&view.definition.input_schema)),
        ("results", view.definition.output_schema.as_ref().and_then(pretty)),
        ("fingerprint", Some(view.definition_sha256.clone())),
        ("first seen", Some(relative_time::format_relative(ctx.now, tool.first_seen_at))),
    ];
    table::render_pairs(&pairs, ctx)
}

/// Diff of the approved and the current definition; all of it if none was approved.
fn render_change(view: &ToolDetailView) -> String {
    if view.tool.approval == Approval::Approved {
        return format!("{} has not changed since its approval", view.tool.name);
    }
    let old = view.approved.as_ref().map(pretty).unwrap_or_default();
    let new = pretty(&view.definition);
    let difference = TextDiff::from_lines(&old, &new);
    let changes: Vec<String> = difference
        .iter_all_changes()
        .filter(|change| change.tag() != ChangeTag::Equal)
        .map(|change| format!("{} {}", change.tag(), change.value().trim_end_matches('\n')))
        .collect();
    let read = format!("fingerprint {}", view.definition_sha256);
    table::sanitize(&format!("{}\n{}\n{read}", view.tool.name, changes.join("\n")))
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
                server_id: None,
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
        let ctx = RenderContext { now: DateTime::UNIX_EPOCH, width: None };

        let text = render_all(&[detail().tool], ctx);

        assert!(text.lines().any(|line| {
            let words: Vec<_> = line.split_whitespace().take(4).collect();
            words == ["files.read", "files", "both", "changed"]
        }));
    }
}
