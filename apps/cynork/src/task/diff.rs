//! `task diff`: the newest changes of a task in its repository.

use std::io::{self, IsTerminal as _};

use clap::Args;
use cynode_client::Client;
use cynode_wire::artifacts::ArtifactKind;
use cynode_wire::git::{
    ALL_PATCH_FILE, FileChange, GitSeverity, PATCH_FILE, TaskDiffView, changes_path,
};

use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::global_args::Format;
use cynode_cli::out::{CommandOutput, RenderContext};
use cynode_cli::table;

const GREEN: u8 = 32;
const RED: u8 = 31;
const CYAN: u8 = 36;
const BOLD: u8 = 1;

/// How many digits of a commit's id are shown.
const SHOWN_DIGITS: usize = 12;

/// Arguments of `task diff`.
#[derive(Debug, Args)]
pub struct TaskDiffArgs {
    /// The task, by name or id.
    task: String,
    /// Print changed files, commits and findings instead of the patch.
    #[arg(long)]
    stat: bool,
    /// Include the changes of the tasks that it builds on.
    #[arg(long)]
    all: bool,
}

impl TaskDiffArgs {
    /// All changes of a task, as a patch.
    pub(crate) fn all_of(task: String) -> Self {
        Self { task, stat: false, all: true }
    }
}

pub(crate) async fn run(args: TaskDiffArgs, app: &mut CliContext) -> Result<(), CliFailure> {
    let TaskDiffArgs { task, stat, all } = args;
    let read = async |client: &Client| {
        if all { client.task_diff_all(&task).await } else { client.task_diff(&task).await }
    };
    let view = app.session.call(async |client| read(client).await).await?;
    if app.out.format == Format::Json {
        return app.out.print_json(&view);
    }
    if stat {
        return app.out.show(&view, render_stat);
    }
    if view.patch.is_empty() {
        app.out.print_message(&format!("task {task} changed no files"));
        return Ok(());
    }
    if io::stdout().is_terminal() && !app.out.is_raw {
        app.out.data(render_patch(&view.patch, app.out))?;
        if view.is_truncated {
            let save = format!("`cynork task diff {task} > changes.patch` saves all of it");
            app.out.print_message(&format!("the patch is longer than 1 MiB; {save}"));
        }
        return Ok(());
    }
    // The view has no bytes that are not UTF-8, and at most 1 MiB.
    // A task that builds on no other has one patch.
    let is_whole = all && view.changes.start.is_some();
    let stored_at = changes_path(view.job_id, if is_whole { ALL_PATCH_FILE } else { PATCH_FILE });
    let download = app.session.call(async |client| {
        client.artifact_content_of_kind(&task, ArtifactKind::Changes, &stored_at).await
    });
    let patch = download.await?;
    app.out.data(patch)
}

/// A patch for a terminal, where its text must not act.
fn render_patch(patch: &str, out: CommandOutput) -> String {
    let mut shown = String::with_capacity(patch.len());
    for line in patch.lines() {
        let clean = table::sanitize_stream(line);
        let code = match line.as_bytes().first() {
            _ if line.starts_with("+++ ") || line.starts_with("--- ") => Some(BOLD),
            _ if line.starts_with("diff --git ") => Some(BOLD),
            Some(b'+') => Some(GREEN),
            Some(b'-') => Some(RED),
            Some(b'@') => Some(CYAN),
            _ => None,
        };
        shown.push_str(&code.map_or_else(|| clean.clone(), |code| out.paint(code, &clean)));
        shown.push('\n');
    }
    shown
}

fn render_stat(view: &TaskDiffView, ctx: RenderContext) -> String {
    let changes = &view.changes;
    let short = |id: &str| id.chars().take(SHOWN_DIGITS).collect::<String>();
    let pairs = [
        ("repository", Some(changes.url.to_string())),
        ("branch", Some(changes.branch.to_string())),
        ("base", Some(short(changes.base.as_str()))),
        ("start", changes.start.as_ref().map(|start| short(start.as_str()))),
        ("head", Some(short(changes.head.as_str()))),
    ];
    let mut parts = vec![table::render_pairs(&pairs, ctx)];
    if !changes.files.is_empty() {
        let count = |lines: Option<u64>, sign: char| {
            lines.map_or_else(|| "binary".to_owned(), |lines| format!("{sign}{lines}"))
        };
        let rows = changes.files.iter().map(|file| {
            let (added, deleted) = (count(file.added, '+'), count(file.deleted, '-'));
            vec![file.path.clone(), describe_change(file.status).to_owned(), added, deleted]
        });
        parts.push(table::render_table(&["FILE", "CHANGE", "ADDED", "DELETED"], rows, ctx));
    }
    if !changes.commits.is_empty() {
        let rows = changes.commits.iter().map(|commit| {
            vec![short(commit.commit.as_str()), commit.author.clone(), commit.subject.clone()]
        });
        parts.push(table::render_table(&["COMMIT", "AUTHOR", "SUBJECT"], rows, ctx));
    }
    if !changes.findings.is_empty() {
        let rows = changes.findings.iter().map(|finding| {
            vec![
                describe_severity(finding.severity).to_owned(),
                finding.rule.clone(),
                finding.path.clone().unwrap_or_default(),
                finding.message.clone(),
            ]
        });
        parts.push(table::render_table(&["SEVERITY", "RULE", "FILE", "FINDING"], rows, ctx));
    }
    parts.join("\n\n")
}

fn describe_change(change: FileChange) -> &'static str {
    match change {
        FileChange::Added => "added",
        FileChange::Modified => "modified",
        FileChange::Deleted => "deleted",
        FileChange::TypeChanged => "type changed",
    }
}

fn describe_severity(severity: GitSeverity) -> &'static str {
    match severity {
        GitSeverity::Note => "note",
        GitSeverity::Review => "review",
        GitSeverity::Block => "block",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cynode_cli::out::{TerminalStyle, Verbosity};

    fn output(style: TerminalStyle) -> CommandOutput {
        CommandOutput { format: Format::Table, verbosity: Verbosity::Normal, style, is_raw: false }
    }

    #[test]
    fn a_patch_is_coloured_and_cannot_act_on_the_terminal() {
        let patch = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-\told\n+\x1b]0;t\x07new\n";

        let plain = render_patch(patch, output(TerminalStyle::Plain));
        let coloured = render_patch(patch, output(TerminalStyle::Colour));

        assert_eq!(
            plain,
            "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-\told\n+ ]0;t new\n"
        );
        assert!(coloured.contains("\x1b[31m-\told\x1b[0m\n"), "{coloured:?}");
        assert!(coloured.contains("\x1b[32m+ ]0;t new\x1b[0m\n"), "{coloured:?}");
    }
}
