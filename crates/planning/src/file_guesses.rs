//! Which files of a project a request is about: those it names, then those whose names share its words.

use std::collections::BTreeSet;

use cynode_domain::project_context::ProjectContext;

use crate::context::is_test_path;

const MAX_FILES: usize = 6;
/// Words that say nothing about a file.
const COMMON: &[&str] = &[
    "add", "and", "the", "for", "with", "from", "that", "this", "into", "page", "file", "files",
    "code", "make", "new", "fix", "bug", "when", "should", "not", "use", "all", "our", "main",
    "index", "src", "lib", "mod", "test", "tests", "readme", "support", "create", "update",
    "change", "remove", "please", "can", "does", "work", "user", "users",
];

/// Files that a request is probably about.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FileGuesses {
    pub(crate) to_modify: Vec<String>,
    pub(crate) to_read: Vec<String>,
    /// A file beside the first one that serves as an example.
    pub(crate) pattern: Option<String>,
}

/// Guesses the files that a text is about.
pub(crate) fn guess_files(text: &str, project: &ProjectContext) -> FileGuesses {
    let named = named_files(text, project);
    let words = words_of(text);
    let mut scored: Vec<(usize, &String)> = project
        .files
        .iter()
        .filter(|path| is_code(path))
        .map(|path| (score(path, &words), path))
        .filter(|(score, _)| *score > 0)
        .collect();
    scored.sort_by(|(a, left), (b, right)| {
        b.cmp(a).then(left.len().cmp(&right.len())).then(left.cmp(right))
    });
    let mut to_modify = named;
    let mut to_read = vec![];
    for (_, path) in scored {
        let list = if is_test_path(path) { &mut to_read } else { &mut to_modify };
        if list.len() < MAX_FILES && !list.contains(path) {
            list.push(path.clone());
        }
    }
    let pattern = to_modify.first().and_then(|path| sibling(path, project, &to_modify));
    FileGuesses { to_modify, to_read, pattern }
}

/// Paths and file names of the project that the text contains.
fn named_files(text: &str, project: &ProjectContext) -> Vec<String> {
    let is_path_char = |c: char| c.is_alphanumeric() || "/._-".contains(c);
    let tokens: BTreeSet<&str> = text
        .split(|c: char| !is_path_char(c))
        .map(|token| token.trim_matches('.').trim_start_matches("./"))
        .filter(|token| token.contains('.') || token.contains('/'))
        .collect();
    let is_named = |path: &&String| {
        tokens.contains(path.as_str())
            || tokens.iter().any(|token| path.ends_with(&format!("/{token}")))
    };
    project.files.iter().filter(is_named).take(MAX_FILES).cloned().collect()
}

fn words_of(text: &str) -> BTreeSet<String> {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| word.len() > 2 && !COMMON.contains(word)).map(stem).collect()
}

/// A word without a plural ending.
fn stem(word: &str) -> String {
    word.strip_suffix('s').filter(|stem| stem.len() > 3).unwrap_or(word).to_owned()
}

/// How many words of the request are in the path; words of the file name count twice.
fn score(path: &str, words: &BTreeSet<String>) -> usize {
    let lower = path.to_lowercase();
    let (directories, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    let count = |text: &str| {
        let parts: BTreeSet<String> = text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|part| part.len() > 2)
            .map(stem)
            .collect();
        parts.intersection(words).count()
    };
    let stem_of_name = name.split('.').next().unwrap_or(name);
    2 * count(stem_of_name) + count(directories)
}

/// Another file of the same directory and ending.
fn sibling(path: &str, project: &ProjectContext, taken: &[String]) -> Option<String> {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    let ending = name.rsplit_once('.')?.1;
    let is_sibling = |other: &&String| {
        let (other_directory, other_name) = other.rsplit_once('/').unwrap_or(("", other));
        other_directory == directory
            && other_name.ends_with(&format!(".{ending}"))
            && !taken.contains(other)
    };
    project.files.iter().find(is_sibling).cloned()
}

fn is_code(path: &str) -> bool {
    const LOCKS: &[&str] =
        &["Cargo.lock", "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "go.sum"];
    let name = path.rsplit('/').next().unwrap_or(path);
    !path.starts_with('.') && !LOCKS.contains(&name) && !name.ends_with(".min.js")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::{ProjectFiles, derive_context};

    fn guess(text: &str, paths: &[&str]) -> FileGuesses {
        let paths = paths.iter().map(|&path| path.to_owned()).collect();
        guess_files(text, &derive_context(&ProjectFiles { paths, ..ProjectFiles::default() }))
    }

    #[test]
    fn the_words_of_a_request_find_its_files() {
        let found = guess(
            "Add dark mode toggle to settings page",
            &[
                "pages/Settings.razor",
                "pages/Preferences.razor",
                "shared/Theme.razor",
                "tests/settings_test.js",
            ],
        );

        assert_eq!(found.to_modify, ["pages/Settings.razor"]);
        assert_eq!(found.to_read, ["tests/settings_test.js"]);
        assert_eq!(found.pattern.as_deref(), Some("pages/Preferences.razor"));
    }

    #[test]
    fn files_that_a_request_names_come_first() {
        let found = guess(
            "Fix the parser in src/parse.rs (see lib.rs)",
            &["src/lib.rs", "src/parse.rs", "src/parser.rs"],
        );

        assert_eq!(found.to_modify[..2], ["src/lib.rs".to_owned(), "src/parse.rs".to_owned()]);
    }

    #[test]
    fn nothing_is_guessed_without_a_shared_word() {
        assert_eq!(guess("Make it faster", &["src/a.rs", "Cargo.lock"]), FileGuesses::default());
    }
}
