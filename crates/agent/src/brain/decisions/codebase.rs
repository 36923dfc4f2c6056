//! Decision: the structure of a project.

use std::collections::BTreeMap;

use cynode_domain::project_context::ProjectAnalysis;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{object_schema, text_list_schema, text_schema};
use crate::brain::{BrainDecision, RuleAnswer};
use crate::context::untrusted;

/// Analyses the structure of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnalyseCodebase {
    /// Paths of its files, relative to its root.
    pub files: Vec<String>,
    /// The project's `CLAUDE.md` or `AGENTS.md`.
    pub guide: Option<String>,
}

/// The structure of a project.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProjectSketch {
    /// The language or tool that builds it, such as `rust`.
    pub project_type: String,
    pub architecture: String,
    /// Paths by topic.
    pub key_paths: BTreeMap<String, String>,
    /// Conventions by topic.
    pub patterns: BTreeMap<String, String>,
    /// The commands that build and test it.
    pub build_commands: Vec<String>,
    pub has_tests: bool,
    /// Whether it has continuous integration.
    pub has_ci: bool,
}

impl From<ProjectSketch> for ProjectAnalysis {
    fn from(sketch: ProjectSketch) -> Self {
        let ProjectSketch { architecture, key_paths, patterns, .. } = sketch;
        Self { architecture, key_paths, patterns }
    }
}

/// Build files, with the project type and the build commands they imply.
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
    /// Derives a sketch from the file names.
    fn sketch_from_names(&self) -> ProjectSketch {
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
            architecture: format!("{} files; no description", self.files.len()),
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

    /// Derives a sketch from the headings of the project's guide.
    fn sketch_from_guide(&self, guide: &str) -> ProjectSketch {
        let mut sketch = self.sketch_from_names();
        for (heading, body) in split_sections(guide) {
            let heading = heading.to_lowercase();
            if heading.contains("architecture") || heading.contains("overview") {
                sketch.architecture = body.trim().chars().take(4000).collect();
            } else if heading.contains("command") || heading.contains("build") {
                let lines = code_block_lines(&body);
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

/// Returns the headings of a text with their bodies.
fn split_sections(markdown: &str) -> Vec<(String, String)> {
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

/// Returns the command lines in the code blocks of a text, without prompts and comments.
fn code_block_lines(text: &str) -> Vec<String> {
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

impl BrainDecision for AnalyseCodebase {
    type Answer = ProjectSketch;

    const PURPOSE: &'static str = "analyse_codebase";
    const HINT: &'static str = "balanced";

    fn schema(&self) -> Value {
        let map = json!({
            "type": "object", "maxProperties": 30,
            "additionalProperties": { "type": "string", "maxLength": 1000 },
        });
        object_schema(&json!({
            "project_type": text_schema("The language or tool that builds it.", 100),
            "architecture": text_schema("Its structure.", 4000),
            "key_paths": map,
            "patterns": map,
            "build_commands": text_list_schema("Commands to build and test it.", 20),
            "has_tests": { "type": "boolean" },
            "has_ci": { "type": "boolean" },
        }))
    }

    fn prompt(&self) -> String {
        let files = untrusted::quote("file names", &self.files.join("\n"), 24 * 1024);
        format!("Describe this project. These are its files:\n\n{files}")
    }

    fn decide_by_rule(&self) -> Option<RuleAnswer<ProjectSketch>> {
        let guide = self.guide.as_deref().filter(|guide| !guide.trim().is_empty())?;
        Some(RuleAnswer::new(self.sketch_from_guide(guide), "the project describes itself"))
    }

    fn fallback(&self) -> RuleAnswer<ProjectSketch> {
        RuleAnswer::new(self.sketch_from_names(), "by the names of its files")
    }

    fn summarize(answer: &ProjectSketch) -> String {
        format!("{}: {}", answer.project_type, answer.architecture)
    }
}
