//! Paths in a repository, as text that is safe to show.
//!
//! Git's paths are bytes: any but NUL. A path that is text without control characters is shown as it is; any other is
//! shown in double quotes with escapes, as git does, so that two paths are never shown alike.

use std::fmt::Write as _;

/// The path as text, quoted if it is not plain text.
pub(crate) fn display_path(path: &[u8]) -> String {
    let is_plain = |text: &str| {
        !text.starts_with('"')
            && !text.contains(|c: char| c.is_control() || c == '\\' || is_bidi(c))
    };
    if let Ok(text) = std::str::from_utf8(path)
        && is_plain(text)
    {
        return text.to_owned();
    }
    let mut quoted = String::from("\"");
    for byte in path {
        match byte {
            b'\n' => quoted.push_str("\\n"),
            b'\t' => quoted.push_str("\\t"),
            b'"' | b'\\' => quoted.extend(['\\', char::from(*byte)]),
            0x20..=0x7e => quoted.push(char::from(*byte)),
            // Writing to a string cannot fail.
            _ => drop(write!(quoted, "\\{byte:03o}")),
        }
    }
    quoted.push('"');
    quoted
}

/// Characters that change the order in which text is shown.
fn is_bidi(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Why no checkout or push should contain the path, if there is a reason.
///
/// Git rejects most of these; the broker does not rely on it.
pub(crate) fn path_fault(path: &[u8]) -> Option<&'static str> {
    if path.is_empty() || path.starts_with(b"/") {
        return Some("is absolute or empty");
    }
    for part in path.split(|byte| *byte == b'/') {
        if part.is_empty() || part == b"." || part == b".." {
            return Some("has an empty part, . or ..");
        }
        if is_git_directory(part) {
            return Some("has a part that some file systems take for .git");
        }
    }
    None
}

/// Names with control characters are legal in git and mislead people who read them in a terminal.
pub(crate) fn has_control_character(path: &[u8]) -> bool {
    path.iter().any(|byte| *byte < 0x20 || *byte == 0x7f)
}

/// Whether a file system that ignores case, Windows short names or ignorable characters takes the name for `.git`.
fn is_git_directory(part: &[u8]) -> bool {
    let text = String::from_utf8_lossy(part);
    let mut folded: String = text.chars().filter(|c| !is_ignorable(*c)).collect();
    folded.make_ascii_lowercase();
    // NTFS: `.git::$INDEX_ALLOCATION`, trailing dots and spaces.
    let stream = folded.split(':').next().unwrap_or_default();
    matches!(stream.trim_end_matches(['.', ' ']), ".git" | "git~1")
        || folded.split('\\').any(|part| part == ".git")
}

/// Characters that HFS+ ignores in names.
fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

/// Whether a symbolic link at `path` with this target stays inside the tree and outside `.git`.
pub(crate) fn is_link_inside(path: &[u8], target: &[u8]) -> bool {
    if target.starts_with(b"/") || target.contains(&0) {
        return false;
    }
    let mut depth = path.split(|byte| *byte == b'/').count() - 1;
    for part in target.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." if depth == 0 => return false,
            b".." => depth -= 1,
            part if is_git_directory(part) => return false,
            _ => depth += 1,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unusual_paths_are_shown_unambiguously() {
        assert_eq!(display_path("src/über.rs".as_bytes()), "src/über.rs");
        assert_eq!(display_path(b"-rf"), "-rf");
        assert_eq!(display_path(b"a\nb"), r#""a\nb""#);
        assert_eq!(display_path(b"a\xffb"), r#""a\377b""#);
        assert_eq!(display_path(b"a\\nb"), r#""a\\nb""#);
        assert_eq!(display_path("a\u{202e}b".as_bytes()), r#""a\342\200\256b""#);
    }

    #[test]
    fn look_alikes_of_the_git_directory_are_found() {
        for path in [
            ".git/config",
            "a/.GIT/hooks/x",
            "git~1",
            "GIT~1/config",
            ".git./x",
            ".git /x",
            ".git::$INDEX",
            ".g\u{200c}it/config",
            "a\\.git\\config",
            "../x",
            "a/../b",
            "/etc/passwd",
            "a//b",
            "",
        ] {
            assert!(path_fault(path.as_bytes()).is_some(), "{path:?}");
        }
        for path in [
            ".github/x",
            ".gitignore",
            "git/x",
            ".gitmodules",
            "a b",
            "-x",
            "git~10",
            "a..b",
            "a\nb",
        ] {
            assert_eq!(path_fault(path.as_bytes()), None, "{path:?}");
        }
    }

    #[test]
    fn links_that_leave_the_tree_are_found() {
        for (path, target) in [
            ("a", "/etc/passwd"),
            ("a", ".."),
            ("a/b", "../../x"),
            ("a", "b/../../c"),
            ("a", ".git/config"),
            ("a/b", "../.GIT/hooks"),
        ] {
            assert!(!is_link_inside(path.as_bytes(), target.as_bytes()), "{path} -> {target}");
        }
        for (path, target) in [("a", "b"), ("a/b", "../c"), ("a/b", "../c/../d"), ("a", "./x")] {
            assert!(is_link_inside(path.as_bytes(), target.as_bytes()), "{path} -> {target}");
        }
    }
}
