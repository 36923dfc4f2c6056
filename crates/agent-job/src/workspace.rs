//! The workspace, and paths that cannot leave it.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Directories that are neither listed, searched nor compared.
pub const SKIPPED_DIRECTORIES: [&str; 3] = [".git", "node_modules", "target"];

/// The directory that the agent works in.
#[derive(Debug, Clone)]
pub struct Workspace {
    /// Without symbolic links.
    root: PathBuf,
    /// As given, because models repeat it in paths.
    given_root: PathBuf,
}

/// A path inside the workspace. Only [`Workspace::resolve`] creates one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WorkspacePath {
    absolute: PathBuf,
    relative: String,
}

impl WorkspacePath {
    /// Without symbolic links, except that the last component may have become one since.
    pub fn absolute(&self) -> &Path {
        &self.absolute
    }

    /// As the model names it, relative to the workspace; `.` for the workspace itself.
    pub fn relative(&self) -> &str {
        &self.relative
    }
}

/// Why a path is rejected.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    #[error("the path \"{0}\" is outside of the workspace; use a path relative to the workspace")]
    Outside(String),
    #[error("the path \"{0}\" contains \"..\"; use a path relative to the workspace")]
    Parent(String),
    #[error("the path \"{0}\" contains a broken symbolic link")]
    BrokenLink(String),
    #[error("the path is empty")]
    Empty,
    #[error("the path contains a NUL character")]
    Nul,
}

impl Workspace {
    /// Fails if `root` is not an existing directory.
    pub fn open(root: &Path) -> io::Result<Self> {
        let canonical = fs::canonicalize(root)?;
        if !canonical.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self { root: canonical, given_root: root.to_owned() })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Resolves a path of the model, following symbolic links that stay in the workspace. The file need not exist.
    pub fn resolve(&self, path: &str) -> Result<WorkspacePath, PathError> {
        if path.is_empty() {
            return Err(PathError::Empty);
        }
        if path.contains('\0') {
            return Err(PathError::Nul);
        }
        let given = Path::new(path);
        let inner = if given.is_absolute() {
            given
                .strip_prefix(&self.root)
                .or_else(|_| given.strip_prefix(&self.given_root))
                .map_err(|_| PathError::Outside(path.to_owned()))?
        } else {
            given
        };
        let (mut absolute, mut relative) = (self.root.clone(), PathBuf::new());
        for component in inner.components() {
            match component {
                Component::CurDir => {}
                Component::ParentDir => return Err(PathError::Parent(path.to_owned())),
                Component::Normal(name) => {
                    absolute = self.follow_link(absolute.join(name), path)?;
                    relative.push(name);
                }
                Component::RootDir | Component::Prefix(_) => {
                    return Err(PathError::Outside(path.to_owned()));
                }
            }
        }
        let relative = match relative.to_str() {
            Some("") | None => ".".to_owned(),
            Some(relative) => relative.to_owned(),
        };
        Ok(WorkspacePath { absolute, relative })
    }

    /// Returns `path`, or the target of the link that it is. `path` has no link before its last component.
    fn follow_link(&self, path: PathBuf, given: &str) -> Result<PathBuf, PathError> {
        let is_link = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_symlink());
        if !is_link {
            return Ok(path);
        }
        // A link to a missing file would let a write create that file anywhere.
        let target =
            fs::canonicalize(&path).map_err(|_| PathError::BrokenLink(given.to_owned()))?;
        if !target.starts_with(&self.root) {
            return Err(PathError::Outside(given.to_owned()));
        }
        Ok(target)
    }
}

/// Whether a directory with this name is left out of listings, searches and comparisons.
pub fn is_skipped_directory(name: &std::ffi::OsStr) -> bool {
    name.to_str().is_some_and(|name| SKIPPED_DIRECTORIES.contains(&name))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn workspace() -> (tempfile::TempDir, Workspace) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("workspace");
        fs::create_dir(&root).unwrap();
        let workspace = Workspace::open(&root).unwrap();
        (folder, workspace)
    }

    #[test]
    fn a_path_is_relative_to_the_workspace_or_begins_with_it() {
        let (_folder, workspace) = workspace();
        let absolute = workspace.root().join("src/a.rs");
        for path in ["src/a.rs", "./src/./a.rs", "src//a.rs", absolute.to_str().unwrap()] {
            let resolved = workspace.resolve(path).unwrap();
            assert_eq!((resolved.absolute(), resolved.relative()), (&*absolute, "src/a.rs"));
        }
        assert_eq!(workspace.resolve(".").unwrap().relative(), ".");
    }

    #[test]
    fn a_path_that_leaves_the_workspace_is_rejected() {
        let (folder, workspace) = workspace();
        let sibling = folder.path().join("workspace-2/x");
        for path in ["/etc/passwd", "/", sibling.to_str().unwrap()] {
            assert_eq!(workspace.resolve(path), Err(PathError::Outside(path.to_owned())));
        }
        for path in ["..", "../x", "a/../../x", "a/.."] {
            assert_eq!(workspace.resolve(path), Err(PathError::Parent(path.to_owned())));
        }
        assert_eq!(workspace.resolve(""), Err(PathError::Empty));
        assert_eq!(workspace.resolve("a\0b"), Err(PathError::Nul));
    }

    #[test]
    fn a_link_is_followed_while_it_stays_in_the_workspace() {
        let (folder, workspace) = workspace();
        let root = workspace.root();
        fs::create_dir(root.join("real")).unwrap();
        symlink("real", root.join("inside")).unwrap();
        symlink(folder.path(), root.join("outside")).unwrap();
        symlink(folder.path().join("missing"), root.join("broken")).unwrap();
        symlink("../workspace/outside", root.join("twice")).unwrap();
        symlink("circle", root.join("circle")).unwrap();

        let inside = workspace.resolve("inside/new.txt").unwrap();
        assert_eq!(inside.absolute(), root.join("real/new.txt"));
        for path in ["outside", "outside/workspace/real/x", "twice/x", "inside/../outside"] {
            assert!(workspace.resolve(path).is_err(), "{path}");
        }
        for path in ["broken", "broken/x", "circle"] {
            assert_eq!(workspace.resolve(path), Err(PathError::BrokenLink(path.to_owned())));
        }
    }
}
