//! What collected commits may contain, and what was found.

use serde::Serialize;

use crate::path_pattern::PathPattern;

/// Tells whether a line contains a secret.
pub type SecretScanner<'a> = dyn Fn(&str) -> bool + Send + Sync + 'a;

/// Files that decide what a forge or a CI system executes.
const PROTECTED_PATHS: [&str; 13] = [
    ".github/workflows/**",
    ".github/actions/**",
    ".gitlab-ci.yml",
    ".gitlab/**",
    ".gitea/**",
    ".forgejo/**",
    ".circleci/**",
    ".woodpecker/**",
    ".woodpecker.yml",
    ".drone.yml",
    ".travis.yml",
    "azure-pipelines.yml",
    "Jenkinsfile",
];

/// Limits and protected paths for the commits of a job.
#[derive(Debug, Clone)]
pub struct ImportPolicy {
    pub max_bundle_bytes: u64,
    pub max_commits: u32,
    /// Of one file, uncompressed.
    pub max_blob_bytes: u64,
    /// Of all new objects together, uncompressed.
    pub max_total_bytes: u64,
    /// Over all commits. Beyond this the content is not inspected.
    pub max_changed_paths: u32,
    pub protected_paths: Vec<PathPattern>,
}

impl Default for ImportPolicy {
    fn default() -> Self {
        const MIB: u64 = 1 << 20;
        let protected = PROTECTED_PATHS.iter().filter_map(|path| PathPattern::parse(path).ok());
        Self {
            max_bundle_bytes: 256 * MIB,
            max_commits: 1000,
            max_blob_bytes: 20 * MIB,
            max_total_bytes: 256 * MIB,
            max_changed_paths: 50_000,
            protected_paths: protected.collect(),
        }
    }
}

/// What a finding means for the commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// A person decides before the commits are pushed.
    Review,
    /// The commits must not be pushed.
    Block,
}

/// The rule that a finding belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyRule {
    NotDescendant,
    TooManyCommits,
    TooManyPaths,
    LargeFile,
    LargeTotal,
    UnsafePath,
    ControlCharacter,
    CaseCollision,
    ProtectedPath,
    LinkOutside,
    SubmoduleChanged,
    Secret,
    NotInspected,
}

/// One thing that was found in collected commits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct PolicyFinding {
    pub severity: Severity,
    pub rule: PolicyRule,
    /// In git's quotes if it is not plain text.
    pub path: Option<String>,
    pub message: String,
}

impl PolicyFinding {
    pub(crate) fn new(severity: Severity, rule: PolicyRule, message: impl Into<String>) -> Self {
        Self { severity, rule, path: None, message: message.into() }
    }

    pub(crate) fn with_path(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }
}
