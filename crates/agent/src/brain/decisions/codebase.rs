//! What a project is made of.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{object, text, texts};
use crate::brain::{Decision, Ruling};
use crate::context::untrusted;

/// What is this project made of?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnalyseCodebase {
    /// Paths of its files, relative to its root.
    pub files: Vec<String>,
    /// What the project says of itself to agents: its `CLAUDE.md` or `AGENTS.md`.
    pub guide: Option<String>,
}

/// What is known of a project.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProjectSketch {
    /// The language or tool that builds it, such as `rust`.
    pub project_type: String,
    /// How it is put together.
    pub architecture: String,
    /// Where things are.
    pub key_paths: BTreeMap<String, String>,
    /// How things are done.
    pub patterns: BTreeMap<String, String>,
    /// What builds and tests it.
    pub build_commands: Vec<String>,
    /// Whether it has tests.
    pub has_tests: bool,
    /// Whether something runs them for every change.
    pub has_ci: bool,
}

/// A file that tells how a project is built.
const MARKERS: &[(&str, &str, &[&str])] = &[
    ("Cargo.toml", "rust", &["cargo build", "cargo test"]),
    ("package.json", "node", &["npm install", "npm test"]),
    ("pyproject.toml", "python", &["python3 -m pytest"]),
    ("setup.py", "python", &["python3 -m pytest"]),
    ("go.mod", "go", &["go build ./...", "go test ./..."]),
    ("pom.xml", "java", &["mvn test"]),
    ("build.gradle", "java", &["gradle test"]),
    ("Makefile", "make", &["make", "make test"]),
    (".sln", "dotnet", &["dotnet build", "dotnet test"]),
    (".csproj", "dotnet", &["dotnet build", "dotnet test"]),
];

impl AnalyseCodebase {
    /// What the names of the files tell.
    fn by_names(&self) -> ProjectSketch {
        let is_root = |path: &&String| !path.contains('/');
        let found = MARKERS.iter().find(|(marker, ..)| {
            self.files.iter().filter(is_root).any(|path| path.ends_with(marker))
        });
        let (project_type, commands) =
            found.map_or(("unknown", &[][..]), |(_, kind, commands)| (kind, commands));
        let under = |folder: &str| self.files.iter().any(|path| path.starts_with(folder));
        let folders = [("source", "src/"), ("tests", "tests/"), ("documents", "docs/")];
        ProjectSketch {
            project_type: project_type.to_owned(),
            architecture: format!("{} files; nobody described it", self.files.len()),
            key_paths: folders
                .into_iter()
                .filter(|(_, folder)| under(folder))
                .map(|(name, folder)| (name.to_owned(), folder.to_owned()))
                .collect(),
            patterns: BTreeMap::new(),
            build_commands: commands.iter().map(|&line| line.to_owned()).collect(),
            has_tests: self.files.iter().any(|path| path.contains("test")),
            has_ci: under(".github/workflows/") || under(".gitlab-ci.yml") || under(".ci/"),
        }
    }

    /// What the project's own guide says, by its headings.
    fn by_guide(&self, guide: &str) -> ProjectSketch {
        let mut sketch = self.by_names();
        for (heading, body) in sections(guide) {
            let heading = heading.to_lowercase();
            if heading.contains("architecture") || heading.contains("overview") {
                sketch.architecture = body.trim().chars().take(4000).collect();
            } else if heading.contains("command") || heading.contains("build") {
                let lines = in_code(&body);
                if !lines.is_empty() {
                    sketch.build_commands = lines;
                }
            } else if !body.trim().is_empty() && sketch.patterns.len() < 20 {
                let short = body.trim().chars().take(1000).collect();
                sketch.patterns.insert(heading, short);
            }
        }
        sketch
    }
}

/// Headings and what stands below each.
fn sections(markdown: &str) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = vec![];
    let mut is_code = false;
    for line in markdown.lines() {
        is_code ^= line.trim_start().starts_with("```");
        match line.strip_prefix('#') {
            Some(rest) if !is_code => {
                all.push((rest.trim_start_matches('#').trim().to_owned(), String::new()));
            }
            _ => {
                if let Some((_, body)) = all.last_mut() {
                    body.push_str(line);
                    body.push('\n');
                }
            }
        }
    }
    all
}

/// The command lines in the code blocks of a text, without prompts and comments.
fn in_code(text: &str) -> Vec<String> {
    let mut lines = vec![];
    let mut is_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if is_code {
            let line = line.trim();
            let line = line.strip_prefix("$ ").unwrap_or(line);
            if !line.is_empty() && !line.starts_with('#') && lines.len() < 20 {
                lines.push(line.to_owned());
            }
        }
    }
    lines
}

impl Decision for AnalyseCodebase {
    type Answer = ProjectSketch;

    const PURPOSE: &'static str = "analyse_codebase";
    const HINT: &'static str = "balanced";

    fn schema(&self) -> Value {
        let map = json!({
            "type": "object", "maxProperties": 30,
            "additionalProperties": { "type": "string", "maxLength": 1000 },
        });
        object(&json!({
            "project_type": text("The language or tool that builds it.", 100),
            "architecture": text("How it is put together.", 4000),
            "key_paths": map,
            "patterns": map,
            "build_commands": texts("What builds and tests it.", 20),
            "has_tests": { "type": "boolean" },
            "has_ci": { "type": "boolean" },
        }))
    }

    fn prompt(&self) -> String {
        let files = untrusted::quote("file names", &self.files.join("\n"), 24 * 1024);
        format!("What is this project made of? These are its files:\n\n{files}")
    }

    fn by_rule(&self) -> Option<Ruling<ProjectSketch>> {
        let guide = self.guide.as_deref().filter(|guide| !guide.trim().is_empty())?;
        Some(Ruling::new(self.by_guide(guide), "the project describes itself"))
    }

    fn fallback(&self) -> Ruling<ProjectSketch> {
        Ruling::new(self.by_names(), "by the names of its files")
    }

    fn summary(answer: &ProjectSketch) -> String {
        format!("{}: {}", answer.project_type, answer.architecture)
    }
}
