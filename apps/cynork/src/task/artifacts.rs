//! `task artifacts`: the files of a task.

use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use cynode_wire::artifacts::{ArtifactView, DeleteArtifacts, StorageView};
use serde_json::json;

use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::global_args::Format;
use cynode_cli::out::RenderContext;
use cynode_cli::{relative_time, table};

/// List, download and delete the files of a task.
#[derive(Debug, Subcommand)]
pub enum ArtifactsCommand {
    /// List attachments, outputs and collected changes.
    List {
        /// The task, by name or id.
        task: String,
    },
    /// Download one file.
    Get(ArtifactGetArgs),
    /// Delete files of a closed task. Without its attachments, it cannot be retried or forked.
    Delete(ArtifactDeleteArgs),
    /// Show how many bytes your files take, and the limits.
    Usage,
}

/// Arguments of `task artifacts delete`.
#[derive(Debug, Args)]
pub struct ArtifactDeleteArgs {
    /// The task, by name or id.
    task: String,
    /// The paths that `artifacts list` shows [default: all files].
    #[arg(value_name = "PATH")]
    paths: Vec<String>,
}

/// Arguments of `task artifacts get`.
#[derive(Debug, Args)]
pub struct ArtifactGetArgs {
    /// The task, by name or id.
    task: String,
    /// The path that `artifacts list` shows.
    path: String,
    /// The target: a file, a directory, or `-` for standard output.
    #[arg(long, value_name = "FILE", default_value = ".")]
    out: PathBuf,
    /// Overwrite an existing file.
    #[arg(long)]
    force: bool,
}

pub(crate) async fn run(command: ArtifactsCommand, app: &mut CliContext) -> Result<(), CliFailure> {
    match command {
        ArtifactsCommand::List { task } => {
            let files = app.session.call(async |client| client.artifact_list(&task).await).await?;
            app.out.list(files, render)
        }
        ArtifactsCommand::Get(args) => download(args, app).await,
        ArtifactsCommand::Delete(args) => delete(args, app).await,
        ArtifactsCommand::Usage => {
            let usage = app.session.call(async |client| client.storage_usage().await).await?;
            app.out.show(&usage, render_usage)
        }
    }
}

async fn delete(args: ArtifactDeleteArgs, app: &mut CliContext) -> Result<(), CliFailure> {
    let ArtifactDeleteArgs { task, paths } = args;
    let body = DeleteArtifacts { paths: (!paths.is_empty()).then_some(paths) };
    let deleted =
        app.session.call(async |client| client.artifact_delete(&task, &body).await).await?;
    app.out.show(&deleted, |deleted, _| match deleted.files {
        0 if deleted.freed_bytes == 0 => format!("task {task} has no files; nothing was deleted"),
        1 => format!("deleted one file; {} B are free", deleted.freed_bytes),
        files => format!("deleted {files} files; {} B are free", deleted.freed_bytes),
    })
}

async fn download(args: ArtifactGetArgs, app: &mut CliContext) -> Result<(), CliFailure> {
    let ArtifactGetArgs { task, path, out, force } = args;
    let to_stdout = out == Path::new("-");
    let out = if to_stdout { out } else { resolve_target(out, &path)? };
    if !to_stdout && !force && out.symlink_metadata().is_ok() {
        return Err(already_exists(&out));
    }
    let content =
        app.session.call(async |client| client.artifact_content(&task, &path).await).await?;
    if to_stdout {
        return app.out.data(content);
    }
    write_file(&content, &out, force)?;
    if app.out.format == Format::Json {
        app.out.print_json(&json!({"path": path, "saved_to": out, "size_bytes": content.len()}))?;
    }
    app.out.print_message(&format!("saved {} bytes to {}", content.len(), out.display()));
    Ok(())
}

/// In a directory, uses the last component of the path only, so that a task cannot choose the target.
fn resolve_target(out: PathBuf, path: &str) -> Result<PathBuf, CliFailure> {
    if !out.is_dir() {
        return Ok(out);
    }
    let name = Path::new(path).file_name().ok_or_else(|| {
        CliFailure::Invalid(format!("\"{path}\" has no file name; give a target with --out FILE"))
    })?;
    Ok(out.join(name))
}

/// Writes atomically.
fn write_file(content: &[u8], out: &Path, force: bool) -> Result<(), CliFailure> {
    let dir = out.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let failed = |error: io::Error| {
        CliFailure::Invalid(format!("cannot save to {}: {error}", out.display()))
    };
    let mut file = tempfile::Builder::new()
        .permissions(std::fs::Permissions::from_mode(0o666))
        .tempfile_in(dir)
        .map_err(failed)?;
    file.write_all(content).map_err(failed)?;
    let saved = if force { file.persist(out) } else { file.persist_noclobber(out) };
    match saved {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
            Err(already_exists(out))
        }
        Err(error) => Err(failed(error.error)),
    }
}

fn already_exists(out: &Path) -> CliFailure {
    CliFailure::Conflict(format!("{} exists; add --force to overwrite it", out.display()))
}

fn render(files: &[ArtifactView], ctx: RenderContext) -> String {
    let rows = files.iter().map(|file| {
        vec![
            file.path.clone(),
            file.kind.clone(),
            format!("{} B", file.size_bytes),
            relative_time::format_relative(ctx.now, file.created_at),
            file.sha256.chars().take(12).collect(),
        ]
    });
    table::render_table(&["PATH", "KIND", "SIZE", "CREATED", "SHA-256"], rows, ctx)
}

fn render_usage(usage: &StorageView, ctx: RenderContext) -> String {
    let row = |kind: &str, name: &str, used: i64, limit: Option<i64>| {
        let share = limit.map(|limit| format!("{} %", used.saturating_mul(100) / limit.max(1)));
        vec![
            kind.to_owned(),
            name.to_owned(),
            format!("{used} B"),
            limit.map_or_else(|| "none".to_owned(), |limit| format!("{limit} B")),
            share.unwrap_or_default(),
        ]
    };
    let user = row("user", &usage.handle, usage.used_bytes, usage.limit_bytes);
    let projects = usage
        .projects
        .iter()
        .map(|project| row("project", &project.slug, project.used_bytes, project.limit_bytes));
    let rows = std::iter::once(user).chain(projects);
    table::render_table(&["KIND", "NAME", "USED", "LIMIT", "SHARE"], rows, ctx)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_exists_is_replaced_only_by_force() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("report.txt");
        write_file(b"one", &out, false).unwrap();

        let refusal = write_file(b"two", &out, false).unwrap_err();

        assert_eq!(refusal.code(), 5);
        assert_eq!(std::fs::read(&out).unwrap(), b"one");
        write_file(b"two", &out, true).unwrap();
        assert_eq!(std::fs::read(&out).unwrap(), b"two");
    }

    #[test]
    fn a_path_that_names_no_file_is_refused() {
        let refusal = resolve_target(PathBuf::from("."), "..").unwrap_err();

        assert_eq!(refusal.code(), 6);
        assert!(refusal.to_string().contains("--out FILE"), "{refusal}");
    }

    #[test]
    fn a_task_cannot_choose_where_its_file_is_saved() {
        let dir = tempfile::tempdir().unwrap();

        let saved = resolve_target(dir.path().to_owned(), "../../etc/passwd").unwrap();

        assert_eq!(saved, dir.path().join("passwd"));
    }
}
