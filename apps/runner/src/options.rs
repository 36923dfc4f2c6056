//! Section `[runner]` of `cynode.toml`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cynode_domain::ids::HolderId;
use cynode_runtime::config::{ConfigFault, ConfigSection};
use cynode_workflow::runner::WorkflowRunnerOptions;
use serde::{Deserialize, Serialize};

const SLOTS: std::ops::RangeInclusive<u32> = 1..=1024;
/// Limits of the orchestrator.
const LEASE_MS: std::ops::RangeInclusive<u32> = 1000..=3_600_000;

/// Section `[runner]` of `cynode.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunnerOptions {
    pub orchestrator_url: String,
    /// File with the runner's token; by default `runner.token` in the data directory.
    pub token_file: Option<PathBuf>,
    /// Maximum concurrent runs.
    pub slots: u32,
    /// Lease duration without renewal, in milliseconds.
    pub lease_ms: u32,
    /// Lease holder id; generated at each start by default.
    pub holder_id: Option<HolderId>,
    /// Address of the health endpoint, `host:port` or `unix:/path`; none by default.
    pub health_listen: Option<String>,
}

impl Default for RunnerOptions {
    fn default() -> Self {
        Self {
            orchestrator_url: "http://127.0.0.1:12080".to_owned(),
            token_file: None,
            slots: 16,
            lease_ms: 10_000,
            holder_id: None,
            health_listen: None,
        }
    }
}

impl ConfigSection for RunnerOptions {
    const NAME: &'static str = "runner";

    fn validate(&self) -> Vec<ConfigFault> {
        let ranges =
            [("runner.slots", self.slots, SLOTS), ("runner.lease_ms", self.lease_ms, LEASE_MS)];
        let outside = ranges.into_iter().filter(|(_, value, range)| !range.contains(value));
        outside
            .map(|(key, value, range)| {
                ConfigFault::new(key, value, format!("{} to {}", range.start(), range.end()))
            })
            .collect()
    }
}

impl RunnerOptions {
    pub fn token_path(&self, data_dir: &Path) -> PathBuf {
        self.token_file.clone().unwrap_or_else(|| data_dir.join("runner.token"))
    }

    /// The options of the runner service.
    pub fn service_options(&self) -> WorkflowRunnerOptions {
        WorkflowRunnerOptions {
            slots: usize::try_from(self.slots).unwrap_or(usize::MAX),
            lease: Duration::from_millis(self.lease_ms.into()),
            holder: self.holder_id,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use clap::Parser;
    use cynode_runtime::config::{ConfigSources, load};

    use super::*;
    use crate::Cli;

    fn sources(arguments: &[&str]) -> ConfigSources {
        let cli = Cli::parse_from([&["cynode-runner"], arguments].concat());
        let flags = toml::Table::try_from(&cli).unwrap();
        ConfigSources { file: None, env: BTreeMap::new(), flags }
    }

    #[test]
    fn a_runner_flag_sets_the_key_of_its_section_and_the_rest_keeps_its_default() {
        let given = sources(&["--slots", "2", "--token-file", "/run/token", "--data-dir", "/data"]);

        let options: RunnerOptions = load(&given).unwrap();

        let token_file = Some(PathBuf::from("/run/token"));
        assert_eq!(options, RunnerOptions { slots: 2, token_file, ..RunnerOptions::default() });
    }

    #[test]
    fn every_runner_value_out_of_range_is_reported_at_once() {
        let refused = load::<RunnerOptions>(&sources(&["--slots", "0", "--lease-ms", "10"]));

        let text = refused.unwrap_err().to_string();
        assert!(text.contains("runner.slots is 0; allowed is 1 to 1024"), "{text}");
        assert!(text.contains("runner.lease_ms is 10; allowed is 1000 to 3600000"), "{text}");
    }

    #[test]
    fn the_runner_finds_its_token_in_the_data_directory() {
        let path = RunnerOptions::default().token_path(Path::new("/data"));

        assert_eq!(path, Path::new("/data/runner.token"));
    }
}
