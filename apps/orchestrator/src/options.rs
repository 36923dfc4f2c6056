//! The `[orchestrator]` section of the configuration.

use std::net::ToSocketAddrs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use cynode_runtime::config::{Fault, Section};
use serde::{Deserialize, Serialize};

/// How the orchestrator runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OrchestratorOptions {
    /// Address to listen on.
    pub listen: String,
    /// Database; the embedded one in the data directory when absent.
    pub database_url: Option<String>,
    /// File with the token that runners present.
    pub runner_token_file: Option<PathBuf>,
    /// File with the token that joining nodes present.
    pub join_token_file: Option<PathBuf>,
    /// How long a job may go unmentioned by its node before it counts as interrupted.
    pub job_lease_ms: u32,
}

/// Shorter, and a busy machine would interrupt healthy jobs.
const JOB_LEASE_MS: RangeInclusive<u32> = 1_000..=3_600_000;

impl Default for OrchestratorOptions {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:12080".to_owned(),
            database_url: None,
            runner_token_file: None,
            join_token_file: None,
            job_lease_ms: 60_000,
        }
    }
}

impl Section for OrchestratorOptions {
    const NAME: &'static str = "orchestrator";

    fn faults(&self) -> Vec<Fault> {
        let mut faults = vec![];
        if self.listen.to_socket_addrs().is_err() {
            let allowed = "host:port, such as 127.0.0.1:12080";
            faults.push(Fault::new("orchestrator.listen", &self.listen, allowed));
        }
        if !JOB_LEASE_MS.contains(&self.job_lease_ms) {
            let allowed = format!("{} to {}", JOB_LEASE_MS.start(), JOB_LEASE_MS.end());
            faults.push(Fault::new("orchestrator.job_lease_ms", self.job_lease_ms, allowed));
        }
        faults
    }
}

impl OrchestratorOptions {
    /// The database, with the default filled in.
    pub(crate) fn database_url(&self, data_dir: &Path) -> String {
        let embedded = || format!("sqlite:{}", data_dir.join("cynode.db").display());
        self.database_url.clone().unwrap_or_else(embedded)
    }
}
