//! `task artifacts`: the files that belong to a task.

use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use cynode_wire::artifacts::ArtifactView;
use serde_json::json;

use crate::app::App;
use crate::cli::Format;
use crate::failure::Failure;
use crate::out::Look;
use crate::{age, table};

/// The files that belong to a task.
#[derive(Debug, Subcommand)]
pub enum ArtifactsCommand {
    /// List attachments and outputs.
    List {
        /// The task, by name or id.
        task: String,
    },
    /// Save one file.
    Get(GetArgs),
}

/// Which file, and where to.
#[derive(Debug, Args)]
pub struct GetArgs {
    /// The task, by name or id.
    task: String,
    /// The file's path, as `artifacts list` shows it.
    path: String,
    /// Where to save it: a file, a directory, or `-` for standard output.
    #[arg(long, value_name = "FILE", default_value = ".")]
    out: PathBuf,
    /// Replace a file that exists.
    #[arg(long)]
    force: bool,
}

/// Does what the command says.
pub(crate) async fn run(command: ArtifactsCommand, app: &mut App) -> Result<(), Failure> {
    match command {
        ArtifactsCommand::List { task } => {
            let files = app.session.call(async |client| client.artifact_list(&task).await).await?;
            app.out.list(files, render)
        }
        ArtifactsCommand::Get(args) => get(args, app).await,
    }
}

async fn get(args: GetArgs, app: &mut App) -> Result<(), Failure> {
    let GetArgs { task, path, out, force } = args;
    let to_stdout = out == Path::new("-");
    let out = if to_stdout { out } else { target(out, &path)? };
    if !to_stdout && !force && out.symlink_metadata().is_ok() {
        return Err(exists(&out));
    }
    let content =
        app.session.call(async |client| client.artifact_content(&task, &path).await).await?;
    if to_stdout {
        return app.out.data(content);
    }
    save(&content, &out, force)?;
    if app.out.format == Format::Json {
        app.out.json(&json!({"path": path, "saved_to": out, "size_bytes": content.len()}))?;
    }
    app.out.say(&format!("saved {} bytes to {}", content.len(), out.display()));
    Ok(())
}

/// A directory takes the file under its own last name, never under the path the task chose.
fn target(out: PathBuf, path: &str) -> Result<PathBuf, Failure> {
    if !out.is_dir() {
        return Ok(out);
    }
    let name = Path::new(path).file_name().ok_or_else(|| {
        Failure::Invalid(format!("\"{path}\" names no file; say where to save it with --out FILE"))
    })?;
    Ok(out.join(name))
}

/// Written whole or not at all.
fn save(content: &[u8], out: &Path, force: bool) -> Result<(), Failure> {
    let dir = out.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let failed =
        |error: io::Error| Failure::Invalid(format!("cannot save to {}: {error}", out.display()));
    let mut file = tempfile::Builder::new()
        .permissions(std::fs::Permissions::from_mode(0o666))
        .tempfile_in(dir)
        .map_err(failed)?;
    file.write_all(content).map_err(failed)?;
    let saved = if force { file.persist(out) } else { file.persist_noclobber(out) };
    match saved {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Err(exists(out)),
        Err(error) => Err(failed(error.error)),
    }
}

fn exists(out: &Path) -> Failure {
    Failure::Conflict(format!("{} exists; add --force to replace it", out.display()))
}

fn render(files: &[ArtifactView], look: Look) -> String {
    let rows = files.iter().map(|file| {
        vec![
            file.path.clone(),
            file.kind.clone(),
            format!("{} B", file.size_bytes),
            age::ago(look.now, file.created_at),
            file.sha256.chars().take(12).collect(),
        ]
    });
    table::rows(&["PATH", "KIND", "SIZE", "CREATED", "SHA-256"], rows, look)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_exists_is_replaced_only_by_force() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("report.txt");
        save(b"one", &out, false).unwrap();

        let refusal = save(b"two", &out, false).unwrap_err();

        assert_eq!(refusal.code(), 5);
        assert_eq!(std::fs::read(&out).unwrap(), b"one");
        save(b"two", &out, true).unwrap();
        assert_eq!(std::fs::read(&out).unwrap(), b"two");
    }

    #[test]
    fn a_path_that_names_no_file_is_refused() {
        let refusal = target(PathBuf::from("."), "..").unwrap_err();

        assert_eq!(refusal.code(), 6);
        assert!(refusal.to_string().contains("--out FILE"), "{refusal}");
    }

    #[test]
    fn a_task_cannot_choose_where_its_file_is_saved() {
        let dir = tempfile::tempdir().unwrap();

        let saved = target(dir.path().to_owned(), "../../etc/passwd").unwrap();

        assert_eq!(saved, dir.path().join("passwd"));
    }
}
