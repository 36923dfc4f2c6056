//! Submodules of a commit. The broker lists them and never fetches them.

use std::collections::BTreeMap;

use cynode_domain::git::CommitId;
use serde::{Deserialize, Serialize};

use crate::broker::GitBroker;
use crate::error::GitError;
use crate::mirror::Mirror;
use crate::redaction::redact_text;
use crate::tree_path::display_path;

const MAX_CONFIG_BYTES: usize = 1024 * 1024;

/// A submodule that a commit names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submodule {
    pub path: String,
    pub commit: CommitId,
    /// What `.gitmodules` says, without a password. It was written by the authors of the repository: data, not an
    /// address to fetch from.
    pub url: Option<String>,
}

impl GitBroker {
    /// The addresses in `.gitmodules` of a commit by path of the submodule. Empty if the file is missing or not
    /// readable as configuration.
    pub(crate) async fn submodule_urls(
        &self,
        mirror: &Mirror,
        commit: &CommitId,
    ) -> Result<BTreeMap<String, String>, GitError> {
        let printed = self
            .mirror_command(mirror, "config")
            .args(["--no-includes", "-z", "--blob", &format!("{commit}:.gitmodules")])
            .args(["--get-regexp", r"^submodule\..*\.(path|url)$"])
            .accept(&[0, 1, 3, 128])
            .read(MAX_CONFIG_BYTES)
            .await?;
        let mut modules: BTreeMap<Vec<u8>, (Option<String>, Option<String>)> = BTreeMap::new();
        for record in printed.split(|byte| *byte == 0) {
            let Some(end) = record.iter().position(|byte| *byte == b'\n') else {
                continue;
            };
            let (key, value) = (&record[..end], &record[end + 1..]);
            if let Some(name) = key.strip_suffix(b".path") {
                modules.entry(name.to_vec()).or_default().0 = Some(display_path(value));
            } else if let Some(name) = key.strip_suffix(b".url") {
                let url = redact_text(&display_path(value), &[]);
                modules.entry(name.to_vec()).or_default().1 = Some(url);
            }
        }
        Ok(modules.into_values().filter_map(|(path, url)| Some((path?, url?))).collect())
    }
}
