//! The documents of files and folders.
//!
//! Hidden entries, folders of tools and files that are not text are left out.
//! Symbolic links are not followed, so that no file outside of a folder is ingested with it.

use std::fs;
use std::path::{Path, PathBuf};

use cynode_knowledge::{is_skipped_folder, kind_of_path};
use cynode_wire::knowledge::{GivenDocument, MAX_DOCUMENT_BYTES};

use cynode_cli::failure::CliFailure;

/// A file to ingest, and its path in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundFile {
    pub(super) file: PathBuf,
    pub(super) path: String,
}

/// A file that is left out, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SkippedFile {
    pub(super) path: String,
    pub(super) reason: String,
}

/// The files of the given files and folders, by path.
pub(super) fn find(paths: &[PathBuf]) -> Result<Vec<FoundFile>, CliFailure> {
    let mut found = vec![];
    for path in paths {
        let failed = |error: std::io::Error| {
            CliFailure::Usage(format!("{} cannot be read: {error}", path.display()))
        };
        let kind = fs::metadata(path).map_err(failed)?;
        if kind.is_dir() {
            // A single folder is the source; of several, each is a folder in it.
            let prefix =
                if paths.len() == 1 { String::new() } else { format!("{}/", name_of(path)) };
            walk(path, &prefix, &mut found).map_err(failed)?;
        } else {
            found.push(FoundFile { file: path.clone(), path: name_of(path) });
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    if let Some(pair) = found.windows(2).find(|pair| pair[0].path == pair[1].path) {
        let name = &pair[0].path;
        let fault = format!("two files would have the path \"{name}\": ingest them as two sources");
        return Err(CliFailure::Usage(fault));
    }
    Ok(found)
}

/// The last part of a path; `documents` if it has none.
pub(super) fn name_of(path: &Path) -> String {
    let absolute = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let name = absolute.file_name().map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| "documents".to_owned())
}

fn walk(folder: &Path, prefix: &str, found: &mut Vec<FoundFile>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let (kind, path) = (entry.file_type()?, format!("{prefix}{name}"));
        if name.starts_with('.') {
            continue;
        }
        if kind.is_dir() && !is_skipped_folder(&name) {
            walk(&entry.path(), &format!("{path}/"), found)?;
        } else if kind.is_file() && kind_of_path(&path).is_some() {
            found.push(FoundFile { file: entry.path(), path });
        }
    }
    Ok(())
}

/// Reads a document, or says why it is left out.
pub(super) fn read(found: &FoundFile) -> Result<GivenDocument, SkippedFile> {
    let skipped =
        |reason: &str| SkippedFile { path: found.path.clone(), reason: reason.to_owned() };
    let size = fs::metadata(&found.file).map_err(|error| skipped(&error.to_string()))?.len();
    if size > MAX_DOCUMENT_BYTES as u64 {
        return Err(skipped("it is larger than 1 MiB"));
    }
    let bytes = fs::read(&found.file).map_err(|error| skipped(&error.to_string()))?;
    let content = String::from_utf8(bytes).map_err(|_| skipped("it is not text in UTF-8"))?;
    Ok(GivenDocument { path: found.path.clone(), content })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_gives_its_text_files_and_nothing_outside_of_it() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("docs");
        for (path, text) in [
            ("docs/b.md", "b"),
            ("docs/a/c.txt", "c"),
            ("docs/.git/config", "x"),
            ("docs/target/out.md", "x"),
            ("docs/logo.png", "x"),
            ("secret.md", "x"),
        ] {
            let file = dir.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        std::os::unix::fs::symlink(dir.path().join("secret.md"), root.join("link.md")).unwrap();

        let found = find(&[root]).unwrap();

        let paths: Vec<&str> = found.iter().map(|found| found.path.as_str()).collect();
        assert_eq!(paths, ["a/c.txt", "b.md"]);
        assert_eq!(read(&found[1]).unwrap().content, "b");
    }

    #[test]
    fn files_that_are_not_text_are_left_out_with_a_reason() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.txt");
        fs::write(&file, [0xff, 0xfe, 0]).unwrap();

        let found = FoundFile { file, path: "a.txt".to_owned() };

        assert_eq!(read(&found).unwrap_err().reason, "it is not text in UTF-8");
        assert!(find(&[dir.path().join("absent")]).is_err());
    }
}
