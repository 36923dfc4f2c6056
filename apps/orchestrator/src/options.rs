//! The `[orchestrator]` section of the configuration.

use std::net::ToSocketAddrs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cynode_ops::analysts::AnalystOptions;
use cynode_ops::chat::ChatOptions;
use cynode_ops::handoff::HandoffOptions;
use cynode_runtime::config::{Fault, Section};
use serde::{Deserialize, Serialize};

use crate::instances::Address;

/// How the orchestrator runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OrchestratorOptions {
    /// Address to listen on.
    pub listen: String,
    /// Database; the embedded one in the data directory when absent.
    pub database_url: Option<String>,
    /// Whether to begin with an empty database although files of earlier tasks are there.
    pub allow_new_database: bool,
    /// File with the token that runners present.
    pub runner_token_file: Option<PathBuf>,
    /// File with the token that joining nodes present.
    pub join_token_file: Option<PathBuf>,
    /// How long a job may go unmentioned by its node before it counts as interrupted.
    pub job_lease_ms: u32,
    /// How long the next piece of a streamed answer in chat may take, in seconds; a whole answer at most 290 of them.
    pub chat_wait_s: u32,
    /// Where processes of the project manager take work: `unix:/path` or `host:port` of this machine.
    /// None: everything goes by rule.
    pub pma_addresses: Vec<String>,
    /// File with the secret that the orchestrator presents to them.
    pub pma_secret_file: Option<PathBuf>,
    /// How many handoffs are open at once.
    pub pma_max_open: u32,
    /// How long the project manager may take for a turn of a conversation in all, in seconds.
    pub pma_chat_timeout_s: u32,
    /// How long it may take for anything else, in seconds. Runs that wait for a plan hold no lease meanwhile.
    pub pma_timeout_s: u32,
    /// Whether the project manager may have analysts verify what no rule can.
    pub pma_analysts: bool,
    /// How many analysts work at once.
    pub pma_analysts_max: u32,
    /// How long an analyst may take, in seconds.
    pub pma_analyst_timeout_s: u32,
    /// The command that starts an analyst; this program, or the `cynode-pma` beside it, when empty.
    pub pma_analyst_command: Vec<String>,
    /// The config file that was named, for analysts to read too.
    #[serde(skip)]
    pub config_file: Option<PathBuf>,
}

/// Shorter, and a busy machine would interrupt healthy jobs.
const JOB_LEASE_MS: RangeInclusive<u32> = 1_000..=3_600_000;
const CHAT_WAIT: RangeInclusive<u32> = 1..=3600;
/// Shorter than the time that any request may take to begin its answer.
const WHOLE_ANSWER_S: u32 = 290;
const OPEN: RangeInclusive<u32> = 1..=1024;
const SECONDS: RangeInclusive<u32> = 1..=3600;
const ANALYSTS: RangeInclusive<u32> = 1..=64;

impl Default for OrchestratorOptions {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:12080".to_owned(),
            database_url: None,
            allow_new_database: false,
            runner_token_file: None,
            join_token_file: None,
            job_lease_ms: 60_000,
            chat_wait_s: 600,
            pma_addresses: vec![],
            pma_secret_file: None,
            pma_max_open: 64,
            pma_chat_timeout_s: 1800,
            pma_timeout_s: 1800,
            pma_analysts: true,
            pma_analysts_max: 2,
            pma_analyst_timeout_s: 600,
            pma_analyst_command: vec![],
            config_file: None,
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
        for address in self.pma_addresses.iter().filter(|text| Address::parse(text).is_none()) {
            let allowed = "unix:/path or host:port";
            faults.push(Fault::new("orchestrator.pma_addresses", format!("{address:?}"), allowed));
        }
        let ranges = [
            ("orchestrator.job_lease_ms", self.job_lease_ms, JOB_LEASE_MS),
            ("orchestrator.chat_wait_s", self.chat_wait_s, CHAT_WAIT),
            ("orchestrator.pma_max_open", self.pma_max_open, OPEN),
            ("orchestrator.pma_chat_timeout_s", self.pma_chat_timeout_s, SECONDS),
            ("orchestrator.pma_timeout_s", self.pma_timeout_s, SECONDS),
            ("orchestrator.pma_analysts_max", self.pma_analysts_max, ANALYSTS),
            ("orchestrator.pma_analyst_timeout_s", self.pma_analyst_timeout_s, SECONDS),
        ];
        for (key, value, range) in
            ranges.into_iter().filter(|(_, value, range)| !range.contains(value))
        {
            let allowed = format!("{} to {}", range.start(), range.end());
            faults.push(Fault::new(key, value, allowed));
        }
        faults
    }
}

impl OrchestratorOptions {
    /// How long and how much chat may be.
    pub(crate) fn chat(&self) -> ChatOptions {
        let seconds = |seconds: u32| Duration::from_secs(seconds.into());
        let (wait, whole) =
            (seconds(self.chat_wait_s), seconds(self.chat_wait_s.min(WHOLE_ANSWER_S)));
        ChatOptions { wait, whole, ..ChatOptions::default() }
    }

    /// How work is handed to the project manager.
    pub(crate) fn handoffs(&self) -> HandoffOptions {
        HandoffOptions {
            max_open: usize::try_from(self.pma_max_open).unwrap_or(usize::MAX),
            chat_within: Duration::from_secs(self.pma_chat_timeout_s.into()),
            within: Duration::from_secs(self.pma_timeout_s.into()),
            ..HandoffOptions::default()
        }
    }

    /// How analysts work.
    pub(crate) fn analysts(&self) -> AnalystOptions {
        AnalystOptions {
            is_on: self.pma_analysts,
            max: usize::try_from(self.pma_analysts_max).unwrap_or(usize::MAX),
            within: Duration::from_secs(self.pma_analyst_timeout_s.into()),
        }
    }

    /// The database, with the default filled in.
    pub(crate) fn database_url(&self, data_dir: &Path) -> String {
        let embedded = || format!("sqlite:{}", data_dir.join("cynode.db").display());
        self.database_url.clone().unwrap_or_else(embedded)
    }
}

#[cfg(test)]
mod tests {
    use cynode_runtime::config::{Sources, load};

    use super::*;

    fn loaded(file: &str, env: &[(&str, &str)]) -> OrchestratorOptions {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cynode.toml");
        std::fs::write(&path, file).unwrap();
        let env = env.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        load(&Sources { file: Some(path), env, ..Sources::default() }).unwrap()
    }

    #[test]
    fn the_switch_and_the_limits_of_analysts_come_from_file_then_environment_then_default() {
        let file = "[orchestrator]\npma_analysts = false\npma_analysts_max = 5\n\
                    pma_analyst_timeout_s = 90\n";
        let env = [
            ("CYNODE_ORCHESTRATOR__PMA_ANALYSTS", "false"),
            ("CYNODE_ORCHESTRATOR__PMA_ANALYSTS_MAX", "7"),
            ("CYNODE_ORCHESTRATOR__PMA_ANALYST_TIMEOUT_S", "30"),
        ];
        let options = |is_on: bool, max: usize, seconds: u64| AnalystOptions {
            is_on,
            max,
            within: Duration::from_secs(seconds),
        };

        assert_eq!(loaded("", &[]).analysts(), options(true, 2, 600));
        assert_eq!(loaded("", &env).analysts(), options(false, 7, 30));
        assert_eq!(loaded(file, &env).analysts(), options(false, 5, 90));
        let on = file.replace("false", "true");
        assert_eq!(loaded(&on, &env).analysts(), options(true, 5, 90), "the file beats it");
    }

    #[test]
    fn limits_of_analysts_out_of_range_are_reported() {
        let options = OrchestratorOptions {
            pma_analysts_max: 65,
            pma_analyst_timeout_s: 0,
            ..OrchestratorOptions::default()
        };

        let keys: Vec<_> = options.faults().into_iter().map(|fault| fault.key).collect();

        assert_eq!(keys, ["orchestrator.pma_analysts_max", "orchestrator.pma_analyst_timeout_s"]);
    }
}
