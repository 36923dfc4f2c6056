//! Checks collected commits against a policy.
//!
//! Every commit is checked, not only the newest: a secret that a later commit removes is pushed all the same.

use std::collections::{BTreeMap, BTreeSet};

use cynode_domain::git::CommitId;

use crate::broker::GitBroker;
use crate::changes::{ChangeKind, ChangeScope, RawChange, diff_arguments};
use crate::diff_lines::AddedLines;
use crate::error::GitError;
use crate::mirror::Mirror;
use crate::new_objects::ObjectSizes;
use crate::policy::{ImportPolicy, PolicyFinding, PolicyRule, SecretScanner, Severity};
use crate::tree::EntryKind;
use crate::tree_path::{display_path, has_control_character, is_link_inside, path_fault};

/// Findings that are reported; more say nothing new.
const MAX_FINDINGS: usize = 500;
/// All messages of the commits together.
const MAX_MESSAGES_BYTES: usize = 16 << 20;
/// A longer target of a link is not one.
const MAX_LINK_BYTES: usize = 4096;
/// Links that are read; each costs a process.
const MAX_LINKS: usize = 200;

/// The commits that are inspected.
#[derive(Debug)]
pub(crate) struct InspectedCommits<'a> {
    pub(crate) mirror: &'a Mirror,
    pub(crate) base: &'a CommitId,
    pub(crate) head: &'a CommitId,
    pub(crate) commits: &'a [CommitId],
    /// Between base and head.
    pub(crate) changes: &'a [RawChange],
}

/// Findings without duplicates, in order of severity.
#[derive(Debug, Default)]
pub(crate) struct FindingSet(BTreeSet<PolicyFinding>);

impl FindingSet {
    /// Adds a finding. If there are too many, the least severe one is dropped: a finding that blocks stays.
    pub(crate) fn add(&mut self, finding: PolicyFinding) {
        self.0.insert(finding);
        if self.0.len() > MAX_FINDINGS {
            // Findings are ordered by severity first.
            self.0.pop_first();
        }
    }

    /// The most severe first.
    pub(crate) fn into_vec(self) -> Vec<PolicyFinding> {
        let mut findings: Vec<_> = self.0.into_iter().collect();
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        findings
    }
}

impl GitBroker {
    /// Adds what every rule finds in the commits.
    pub(crate) async fn inspect_commits(
        &self,
        inspected: &InspectedCommits<'_>,
        policy: &ImportPolicy,
        is_secret: &SecretScanner<'_>,
        findings: &mut FindingSet,
    ) -> Result<(), GitError> {
        let mirror = inspected.mirror;
        let sizes = match self.measure_objects(mirror, inspected.base, inspected.head).await {
            Err(GitError::LimitExceeded { .. }) => {
                let message = "there are too many new objects to inspect";
                findings.add(PolicyFinding::new(
                    Severity::Block,
                    PolicyRule::NotInspected,
                    message,
                ));
                return Ok(());
            }
            measured => measured?,
        };
        let scope = ChangeScope::Each(inspected.commits);
        let changes = match self.list_changes(mirror, scope, policy.max_changed_paths).await {
            Err(GitError::LimitExceeded { limit, .. }) => {
                let message = format!("the commits change more than {limit} paths");
                findings.add(PolicyFinding::new(
                    Severity::Block,
                    PolicyRule::TooManyPaths,
                    message,
                ));
                return Ok(());
            }
            changes => changes?,
        };
        check_sizes(&sizes, &changes, policy, findings);
        for change in &changes {
            check_path(change, policy, findings);
        }
        self.check_links(mirror, &changes, &sizes, findings).await?;
        self.check_submodules(inspected, &changes, findings).await?;
        self.check_case(inspected, findings).await?;
        if sizes.total > policy.max_total_bytes {
            let message = "the content is too large to search it for secrets";
            findings.add(PolicyFinding::new(Severity::Block, PolicyRule::NotInspected, message));
            return Ok(());
        }
        self.check_messages(inspected, &changes, is_secret, findings).await?;
        self.check_secrets(inspected, is_secret, findings).await
    }

    /// Searches what is pushed with the files: messages and people of commits, and paths.
    async fn check_messages(
        &self,
        inspected: &InspectedCommits<'_>,
        changes: &[RawChange],
        is_secret: &SecretScanner<'_>,
        findings: &mut FindingSet,
    ) -> Result<(), GitError> {
        let printed = self
            .mirror_command(inspected.mirror, "log")
            .args(["--no-show-signature", "--no-decorate", "--encoding=UTF-8"])
            .arg("--format=tformat:%an%n%ae%n%cn%n%ce%n%B")
            .args([inspected.head.as_str(), &format!("^{}", inspected.base)])
            .read(MAX_MESSAGES_BYTES)
            .await;
        let printed = match printed {
            Err(GitError::LimitExceeded { .. }) => {
                let message = "the messages of the commits are too long to search them for secrets";
                findings.add(PolicyFinding::new(
                    Severity::Block,
                    PolicyRule::NotInspected,
                    message,
                ));
                return Ok(());
            }
            printed => printed?,
        };
        if String::from_utf8_lossy(&printed).lines().any(is_secret) {
            let message = "the message or author of a commit looks like a secret";
            findings.add(PolicyFinding::new(Severity::Block, PolicyRule::Secret, message));
        }
        for path in changes.iter().map(|change| display_path(&change.path)) {
            if is_secret(&path) {
                let message = "the path looks like a secret";
                let finding = PolicyFinding::new(Severity::Block, PolicyRule::Secret, message);
                findings.add(finding.with_path(path));
            }
        }
        Ok(())
    }

    async fn check_links(
        &self,
        mirror: &Mirror,
        changes: &[RawChange],
        sizes: &ObjectSizes,
        findings: &mut FindingSet,
    ) -> Result<(), GitError> {
        let mut targets: BTreeMap<&str, Option<Vec<u8>>> = BTreeMap::new();
        let is_link =
            |change: &&RawChange| change.kind == EntryKind::Link && !change.object.is_empty();
        for link in changes.iter().filter(is_link) {
            let path = display_path(&link.path);
            if !targets.contains_key(link.object.as_str()) {
                let size = sizes.blobs.get(&link.object).copied().unwrap_or(0);
                let is_readable = size <= MAX_LINK_BYTES as u64 && targets.len() < MAX_LINKS;
                let target = if is_readable {
                    Some(self.read_blob(mirror, &link.object, MAX_LINK_BYTES).await?)
                } else {
                    None
                };
                targets.insert(&link.object, target);
            }
            let message = match targets.get(link.object.as_str()).and_then(Option::as_ref) {
                Some(target) if is_link_inside(&link.path, target) => continue,
                Some(target) => {
                    format!("the symbolic link leaves the repository: {}", display_path(target))
                }
                None => "the symbolic link was not checked".to_owned(),
            };
            let finding = PolicyFinding::new(Severity::Review, PolicyRule::LinkOutside, message);
            findings.add(finding.with_path(path));
        }
        Ok(())
    }

    async fn check_submodules(
        &self,
        inspected: &InspectedCommits<'_>,
        changes: &[RawChange],
        findings: &mut FindingSet,
    ) -> Result<(), GitError> {
        let rule = PolicyRule::SubmoduleChanged;
        for change in changes.iter().filter(|change| change.kind == EntryKind::Submodule) {
            let message = "the commit of a submodule changes";
            let finding = PolicyFinding::new(Severity::Review, rule, message);
            findings.add(finding.with_path(display_path(&change.path)));
        }
        if !changes.iter().any(|change| change.path == b".gitmodules") {
            return Ok(());
        }
        let old = self.submodule_urls(inspected.mirror, inspected.base).await?;
        let new = self.submodule_urls(inspected.mirror, inspected.head).await?;
        let finding = PolicyFinding::new(Severity::Review, rule, "the list of submodules changes");
        findings.add(finding.with_path(".gitmodules"));
        for (path, url) in new.iter().filter(|(path, url)| old.get(*path) != Some(url)) {
            let runs_programs = url.starts_with('-') || url.contains("::");
            let severity = if runs_programs { Severity::Block } else { Severity::Review };
            let message = format!("the submodule is fetched from {url}");
            findings.add(PolicyFinding::new(severity, rule, message).with_path(path));
        }
        Ok(())
    }

    /// Finds new paths that differ from another only by case.
    async fn check_case(
        &self,
        inspected: &InspectedCommits<'_>,
        findings: &mut FindingSet,
    ) -> Result<(), GitError> {
        let fold = |path: &[u8]| String::from_utf8_lossy(path).to_lowercase();
        let is_added = |change: &&RawChange| change.status == ChangeKind::Added;
        let added: BTreeSet<String> =
            inspected.changes.iter().filter(is_added).map(|change| fold(&change.path)).collect();
        if added.is_empty() {
            return Ok(());
        }
        let mut seen: BTreeMap<String, Vec<Vec<u8>>> = BTreeMap::new();
        let listed = self.list_tree(inspected.mirror, inspected.head, |entry| {
            let folded = fold(entry.path);
            if added.contains(&folded) {
                seen.entry(folded).or_default().push(entry.path.to_owned());
            }
        });
        match listed.await {
            Err(GitError::LimitExceeded { limit, what, .. }) => {
                let message = format!("the newest commit has more than {limit} {what}");
                findings.add(PolicyFinding::new(Severity::Block, PolicyRule::LargeTotal, message));
            }
            listed => listed?,
        }
        for paths in seen.values().filter(|paths| paths.len() > 1) {
            let message = "another path differs only by upper and lower case";
            let finding = PolicyFinding::new(Severity::Review, PolicyRule::CaseCollision, message);
            findings.add(finding.with_path(display_path(&paths[0])));
        }
        Ok(())
    }

    async fn check_secrets(
        &self,
        inspected: &InspectedCommits<'_>,
        is_secret: &SecretScanner<'_>,
        findings: &mut FindingSet,
    ) -> Result<(), GitError> {
        let mut lines = AddedLines::default();
        let (arguments, input) = diff_arguments(ChangeScope::Each(inspected.commits));
        // As text: a file that claims to be binary is searched too.
        self.mirror_command(inspected.mirror, "diff-tree")
            .args(["-r", "-p", "-U0", "--text", "--no-ext-diff", "--no-textconv", "--no-renames"])
            .args(["--src-prefix=a/", "--dst-prefix=b/"])
            .args(arguments)
            .input(input)
            .run_with(&mut |piece| {
                lines.push(piece, &mut |line| {
                    if is_secret(line.text) {
                        let message = format!("line {} looks like a secret", line.number);
                        let finding =
                            PolicyFinding::new(Severity::Block, PolicyRule::Secret, message);
                        findings.add(finding.with_path(line.path));
                    }
                });
                Ok(())
            })
            .await?;
        Ok(())
    }
}

fn check_sizes(
    sizes: &ObjectSizes,
    changes: &[RawChange],
    policy: &ImportPolicy,
    findings: &mut FindingSet,
) {
    let large: BTreeMap<&str, u64> = sizes
        .blobs
        .iter()
        .filter(|(_, size)| **size > policy.max_blob_bytes)
        .map(|(id, size)| (id.as_str(), *size))
        .collect();
    for (id, size) in &large {
        let change = changes.iter().find(|change| change.object == *id);
        let path = change.map_or_else(|| (*id).to_owned(), |change| display_path(&change.path));
        let message = format!("the file has {size} bytes; {} are allowed", policy.max_blob_bytes);
        findings.add(
            PolicyFinding::new(Severity::Block, PolicyRule::LargeFile, message).with_path(path),
        );
    }
    if sizes.total > policy.max_total_bytes {
        let (total, limit) = (sizes.total, policy.max_total_bytes);
        let message = format!("the commits add {total} bytes; {limit} are allowed");
        findings.add(PolicyFinding::new(Severity::Block, PolicyRule::LargeTotal, message));
    }
}

fn check_path(change: &RawChange, policy: &ImportPolicy, findings: &mut FindingSet) {
    let mut add = |severity, rule, message: &str| {
        findings
            .add(PolicyFinding::new(severity, rule, message).with_path(display_path(&change.path)));
    };
    if let Some(reason) = path_fault(&change.path) {
        add(Severity::Block, PolicyRule::UnsafePath, &format!("the path {reason}"));
    }
    if has_control_character(&change.path) {
        let message = "the path has a control character";
        add(Severity::Review, PolicyRule::ControlCharacter, message);
    }
    if policy.protected_paths.iter().any(|pattern| pattern.matches(&change.path)) {
        let message = "the path is protected: it may decide what a forge executes";
        add(Severity::Review, PolicyRule::ProtectedPath, message);
    }
}
