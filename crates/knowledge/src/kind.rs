//! What a document is, by its path; and which paths are accepted.

use cynode_domain::knowledge::{DocumentKind, MAX_PATH_BYTES};
use cynode_domain::visible_text::is_shown;

const CODE: &[&str] = &[
    "bash", "c", "cc", "clj", "cpp", "cs", "css", "dart", "ex", "exs", "go", "graphql", "h", "hpp",
    "hs", "java", "js", "jsx", "kt", "lua", "m", "ml", "mjs", "php", "pl", "proto", "ps1", "py",
    "r", "rb", "rs", "scala", "sh", "sql", "svelte", "swift", "tf", "ts", "tsx", "vue", "zig",
];
/// What is not text, or not worth finding.
const SKIPPED: &[&str] = &[
    "7z", "a", "avi", "bin", "bmp", "class", "db", "dll", "doc", "docx", "dylib", "exe", "gif",
    "gz", "ico", "jar", "jpeg", "jpg", "lock", "mkv", "mov", "mp3", "mp4", "o", "ogg", "otf",
    "png", "pptx", "pyc", "rlib", "so", "sqlite", "svg", "tar", "tgz", "ttf", "wasm", "wav",
    "webm", "webp", "woff", "woff2", "xlsx", "xz", "zip", "zst",
];
/// Folders of tools, not of people.
const SKIPPED_FOLDERS: &[&str] = &[
    ".git",
    ".hg",
    ".svn",
    ".idea",
    ".venv",
    ".vscode",
    "__pycache__",
    "dist",
    "node_modules",
    "target",
    "vendor",
];

/// Why a path of a document is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    #[error("the path is empty or longer than {MAX_PATH_BYTES} bytes")]
    Length,
    #[error(
        "the path must be relative, without `.`, `..`, empty parts, `\\` and control characters"
    )]
    Shape,
    #[error("the path has invisible characters, such as marks of direction: rename the file")]
    Invisible,
}

/// Checks the path of a document: a name with `/` that leads out of no folder. Prompts cite it, so every character must be
/// shown to people too.
pub fn check_path(path: &str) -> Result<(), PathError> {
    if path.is_empty() || path.len() > MAX_PATH_BYTES {
        return Err(PathError::Length);
    }
    let is_bad = |part: &str| matches!(part, "" | "." | "..");
    if path.contains('\\') || path.chars().any(char::is_control) || path.split('/').any(is_bad) {
        return Err(PathError::Shape);
    }
    if !path.chars().all(is_shown) {
        return Err(PathError::Invisible);
    }
    Ok(())
}

/// How a document at a path is read; `None` if it is skipped.
pub fn kind_of_path(path: &str) -> Option<DocumentKind> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    let extension = extension.as_deref().unwrap_or_default();
    Some(match extension {
        "md" | "markdown" | "mdx" => DocumentKind::Markdown,
        "html" | "htm" | "xhtml" => DocumentKind::Html,
        "pdf" => DocumentKind::Pdf,
        code if CODE.contains(&code) => DocumentKind::Code,
        skipped if SKIPPED.contains(&skipped) => return None,
        _ if matches!(name, "Makefile" | "Dockerfile" | "Containerfile" | "Justfile") => {
            DocumentKind::Code
        }
        _ => DocumentKind::Text,
    })
}

/// Whether a folder of this name is left out when a folder is ingested.
pub fn is_skipped_folder(name: &str) -> bool {
    SKIPPED_FOLDERS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_nowhere_else() {
        for path in ["a", "docs/guide.md", "größe/ü.txt", "a b/c"] {
            assert_eq!(check_path(path), Ok(()), "{path}");
        }
        for path in
            ["/etc/passwd", "../x", "a/../x", "a//b", "a/", "./a", "a\\..\\b", "a\nb", "a\0"]
        {
            assert_eq!(check_path(path), Err(PathError::Shape), "{path:?}");
        }
        for path in ["a\u{e0041}.md", "docs/\u{202e}dm.a", "a\u{200b}b"] {
            assert_eq!(check_path(path), Err(PathError::Invisible), "{path:?}");
        }
        assert_eq!(check_path(""), Err(PathError::Length));
        assert_eq!(check_path(&"x".repeat(MAX_PATH_BYTES + 1)), Err(PathError::Length));
    }

    #[test]
    fn kinds_follow_from_names() {
        assert_eq!(kind_of_path("docs/A.MD"), Some(DocumentKind::Markdown));
        assert_eq!(kind_of_path("src/main.rs"), Some(DocumentKind::Code));
        assert_eq!(kind_of_path("Makefile"), Some(DocumentKind::Code));
        assert_eq!(kind_of_path("LICENSE"), Some(DocumentKind::Text));
        assert_eq!(kind_of_path("paper.pdf"), Some(DocumentKind::Pdf));
        assert_eq!(kind_of_path("logo.png"), None);
    }
}
