//! The context of a project, derived from the paths of its files and the texts of a few of them.
//!
//! Start at [`derive_context`]. What a file says is data: it fills fields that people and agents read, and commands that run in a
//! sandbox only. A project that has neither a known build file nor a guide is left to a model, see [`ContextGap`].

mod build_files;
mod guide;

use std::collections::{BTreeMap, BTreeSet};

use cynode_domain::project_context::ProjectContext;
use cynode_domain::text::truncate_at_line;
use cynode_domain::work_kind::ProjectKind;

/// The file that makes a request for a new project.
pub const BRIEF: &str = "PROJECT-BRIEF.md";
/// Files that describe a project to agents; the first one counts.
pub const GUIDES: [&str; 2] = ["CLAUDE.md", "AGENTS.md"];
/// Files whose text is read, where they exist at the root.
pub const READ_FILES: &[&str] = &[
    BRIEF,
    "CLAUDE.md",
    "AGENTS.md",
    "README.md",
    "package.json",
    "Cargo.toml",
    "pyproject.toml",
    "Makefile",
    "composer.json",
    "Gemfile",
    "go.mod",
    "CMakeLists.txt",
];
/// The revision of the rules of this module; a context that others derived is derived again.
pub const CONTEXT_RULES: u32 = 1;
/// The longest text of one of them that is read.
pub const MAX_READ_BYTES: usize = 32 * 1024;

/// The files of a project, as a job listed them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectFiles {
    /// Relative to the root, without links.
    pub paths: Vec<String>,
    /// Texts of [`READ_FILES`] by path.
    pub texts: BTreeMap<String, String>,
}

impl ProjectFiles {
    fn text(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }

    fn has_root_file(&self, name: &str) -> bool {
        self.paths.iter().any(|path| path == name)
    }

    fn has_root_suffix(&self, suffix: &str) -> bool {
        self.paths.iter().any(|path| !path.contains('/') && path.ends_with(suffix))
    }

    fn has_below(&self, directory: &str) -> bool {
        self.paths.iter().any(|path| path.starts_with(directory))
    }
}

/// What the files do not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextGap {
    /// No build file and no guide: the architecture and the commands are unknown.
    Undescribed,
}

/// Derives the context of a project.
pub fn derive_context(files: &ProjectFiles) -> ProjectContext {
    let built = build_files::detect(files);
    let guide = GUIDES.iter().find_map(|name| files.text(name));
    let guide = guide.filter(|text| !text.trim().is_empty() && !cynode_fault::fault!("PMO-06"));
    let described = guide.map(guide::parse).unwrap_or_default();
    let key_paths = key_paths(files);
    let architecture = described
        .architecture
        .or_else(|| files.text("README.md").and_then(guide::first_paragraph))
        .unwrap_or_else(|| describe_tree(files, built.kind));
    let has_tests = files.paths.iter().any(|path| is_test_path(path));
    let tests = if described.test_commands.is_empty() {
        built.test_commands
    } else {
        described.test_commands
    };
    let mut paths: Vec<String> = files.paths.clone();
    paths.truncate(ProjectContext::MAX_FILES);
    ProjectContext {
        kind: built.kind,
        guide: guide.map(|text| truncate(text, ProjectContext::MAX_GUIDE_BYTES)),
        architecture,
        key_paths,
        patterns: described.patterns,
        build_commands: if described.build_commands.is_empty() {
            built.build_commands
        } else {
            described.build_commands
        },
        test_commands: if has_tests || built.declares_tests { tests } else { vec![] },
        has_tests: has_tests || built.declares_tests,
        has_ci: [
            ".github/workflows/",
            ".gitlab-ci.yml",
            ".forgejo/",
            ".gitea/",
            ".circleci/",
            ".ci/",
        ]
        .iter()
        .any(|path| files.has_below(path)),
        has_ui: has_ui(files),
        has_brief: files.has_root_file(BRIEF),
        file_count: u32::try_from(files.paths.len()).unwrap_or(u32::MAX),
        files: paths,
        is_analysed: false,
    }
}

/// What a model may add to a derived context; `None` if the files say enough.
pub fn find_gap(context: &ProjectContext) -> Option<ContextGap> {
    let is_empty = context.file_count == 0 || (context.has_brief && context.file_count <= 3);
    let is_described =
        context.is_analysed || context.guide.is_some() || context.kind != ProjectKind::Unknown;
    (!is_empty && !is_described).then_some(ContextGap::Undescribed)
}

/// Whether a path belongs to the tests of a project, in any language.
#[expect(clippy::case_sensitive_file_extension_comparisons, reason = "the path is in lower case")]
pub fn is_test_path(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let (directories, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    let is_test_directory = |part: &str| {
        matches!(part, "test" | "tests" | "spec" | "specs" | "__tests__" | "e2e" | "testing")
            || part.ends_with(".tests")
            || part.ends_with(".test")
    };
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    // `docs/specs` holds documents.
    let is_document = name.ends_with(".md") || name.ends_with(".txt");
    !is_document
        && (directories.split('/').any(is_test_directory)
            || stem.starts_with("test_")
            || stem.ends_with("_test")
            || stem.ends_with("_spec")
            || stem.ends_with(".test")
            || stem.ends_with(".spec")
            || stem.ends_with("tests")
            || stem == "test")
}

fn has_ui(files: &ProjectFiles) -> bool {
    const ENDINGS: &[&str] = &[
        ".html",
        ".css",
        ".scss",
        ".vue",
        ".svelte",
        ".tsx",
        ".jsx",
        ".razor",
        ".xaml",
        ".swift",
        ".erb",
        ".blade.php",
    ];
    files.paths.iter().any(|path| ENDINGS.iter().any(|ending| path.ends_with(ending)))
}

/// Directories by topic.
fn key_paths(files: &ProjectFiles) -> BTreeMap<String, String> {
    const TOPICS: &[(&str, &[&str])] = &[
        ("source", &["src/", "lib/", "app/", "crates/", "packages/", "pkg/", "cmd/", "internal/"]),
        ("tests", &["tests/", "test/", "spec/", "__tests__/", "e2e/"]),
        ("documents", &["docs/", "doc/"]),
        ("styles", &["styles/", "css/", "assets/", "static/", "public/"]),
        (
            "continuous integration",
            &[".github/workflows/", ".gitlab-ci.yml", ".forgejo/workflows/"],
        ),
    ];
    let found = |paths: &[&str]| {
        paths.iter().find(|path| files.has_below(path)).map(|path| (*path).to_owned())
    };
    TOPICS
        .iter()
        .filter_map(|(topic, paths)| found(paths).map(|path| ((*topic).to_owned(), path)))
        .collect()
}

/// A sentence about a project that describes itself nowhere.
fn describe_tree(files: &ProjectFiles, kind: ProjectKind) -> String {
    if files.paths.is_empty() {
        return "an empty repository".to_owned();
    }
    let top: BTreeSet<&str> = files
        .paths
        .iter()
        .filter_map(|path| path.split_once('/').map(|(top, _)| top))
        .filter(|top| !top.starts_with('.'))
        .collect();
    let shown: Vec<&str> = top.into_iter().take(8).collect();
    let (count, kind) = (files.paths.len(), kind.as_str());
    let places = if shown.is_empty() {
        "at the root".to_owned()
    } else {
        format!("in {}", shown.join(", "))
    };
    let noun = if count == 1 { "file" } else { "files" };
    format!("a {kind} project with {count} {noun} {places}")
}

/// Cuts a text at a line break before the limit.
pub(crate) fn truncate(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    let kept = truncate_at_line(text, max_bytes);
    format!("{kept}\n[cut: {} more bytes]", text.len() - kept.len())
}

#[cfg(test)]
mod tests;
