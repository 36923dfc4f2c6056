//! A `cynork` link to this executable, and its path for a shell.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Creates a `cynork` link next to the executable, or in the data directory if that fails; returns its path.
pub(crate) fn ensure_cynork_link(executable: &Path, data_dir: &Path) -> io::Result<PathBuf> {
    let beside = executable.with_file_name("cynork");
    // A regular file is a real `cynork`; a link to this executable is already correct.
    if beside.is_file() && (!beside.is_symlink() || points_to(&beside, executable)) {
        return Ok(beside);
    }
    let name = executable.file_name().map(PathBuf::from).unwrap_or_default();
    if relink(&name, &beside).is_ok() {
        return Ok(beside);
    }
    let bin = data_dir.join("bin");
    fs::create_dir_all(&bin)?;
    let inside = bin.join("cynork");
    relink(executable, &inside)?;
    Ok(inside)
}

/// `path` quoted for a shell, relative to `cwd` if it is inside.
pub(crate) fn shell_path(path: &Path, cwd: &Path) -> String {
    match path.strip_prefix(cwd) {
        Ok(inside) => shell_quote(&format!("./{}", inside.display())),
        Err(_) => shell_quote(&path.display().to_string()),
    }
}

/// Quotes `text` as one shell word.
pub(crate) fn shell_quote(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn points_to(link: &Path, executable: &Path) -> bool {
    matches!((link.canonicalize(), executable.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// Replaces only links, never files.
fn relink(target: &Path, link: &Path) -> io::Result<()> {
    if link.is_symlink() {
        fs::remove_file(link)?;
    }
    symlink(target, link)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn executable(dir: &Path) -> PathBuf {
        let path = dir.join("cynode");
        fs::write(&path, "").unwrap();
        path
    }

    #[test]
    fn the_link_lies_beside_the_executable_and_survives_a_move_of_both() {
        let dir = tempfile::tempdir().unwrap();
        let executable = executable(dir.path());

        let made = ensure_cynork_link(&executable, Path::new("/nowhere")).unwrap();
        let again = ensure_cynork_link(&executable, Path::new("/nowhere")).unwrap();

        assert_eq!((&made, &made), (&dir.path().join("cynork"), &again));
        assert_eq!(fs::read_link(made).unwrap(), Path::new("cynode"));
    }

    #[test]
    fn a_real_program_of_that_name_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("cynork"), "real").unwrap();

        let found = ensure_cynork_link(&executable(dir.path()), Path::new("/nowhere")).unwrap();

        assert_eq!(fs::read_to_string(found).unwrap(), "real");
    }

    #[test]
    fn without_room_beside_the_executable_the_link_lies_in_the_data_directory() {
        let data = tempfile::tempdir().unwrap();

        // Not even root can create a file in /proc.
        let made = ensure_cynork_link(Path::new("/proc/cynode"), data.path()).unwrap();

        assert_eq!(made, data.path().join("bin/cynork"));
        assert_eq!(fs::read_link(made).unwrap(), Path::new("/proc/cynode"));
    }

    #[test]
    fn a_path_is_typed_relative_where_that_is_shorter_and_quoted_where_needed() {
        let cwd = Path::new("/srv/cynode");

        assert_eq!(shell_path(&cwd.join("target/release/cynork"), cwd), "./target/release/cynork");
        assert_eq!(shell_path(Path::new("/opt/bin/cynork"), cwd), "/opt/bin/cynork");
        assert_eq!(shell_path(Path::new("/opt/my bin/it's"), cwd), r"'/opt/my bin/it'\''s'");
    }
}
