//! The `[orchestrator]` section of the configuration.

use std::net::ToSocketAddrs;
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
}

impl Default for OrchestratorOptions {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:12080".to_owned(),
            database_url: None,
            runner_token_file: None,
            join_token_file: None,
        }
    }
}

impl Section for OrchestratorOptions {
    const NAME: &'static str = "orchestrator";

    fn faults(&self) -> Vec<Fault> {
        match self.listen.to_socket_addrs() {
            Ok(_) => vec![],
            Err(_) => vec![Fault::new(
                "orchestrator.listen",
                &self.listen,
                "host:port, such as 127.0.0.1:12080",
            )],
        }
    }
}

impl OrchestratorOptions {
    /// The database, with the default filled in.
    pub(crate) fn database_url(&self, data_dir: &Path) -> String {
        let embedded = || format!("sqlite:{}", data_dir.join("cynode.db").display());
        self.database_url.clone().unwrap_or_else(embedded)
    }
}
