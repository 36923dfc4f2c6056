//! The `[orchestrator]` section of the configuration.

use std::net::ToSocketAddrs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cynode_analysts::AnalystOptions;
use cynode_domain::job::Limits;
use cynode_execution::artifacts::StorageLimits;
use cynode_execution::handoff::HandoffOptions;
use cynode_execution::nodes::MIN_FREE_DISK_MIB;
use cynode_ops::chat::ChatOptions;
use cynode_resources::audit::{AuditOptions, parse_public_key};
use cynode_resources::request_limits::RequestLimitOptions;
use cynode_runtime::config::{ConfigFault, ConfigSection};
use serde::{Deserialize, Serialize};

use crate::audit_stream::StreamTarget;
use crate::connections::{ConnectionLimits, HEADER_TIMEOUT};
use crate::pma_instances::PmaAddress;
use crate::trusted_proxies::TrustedProxies;

/// Configuration of the orchestrator.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OrchestratorOptions {
    /// Address to listen on.
    pub listen: String,
    /// Maximum open connections, and no more than the limit of open files allows.
    pub max_connections: u32,
    /// Maximum open connections from one address. Processes on this machine and clients behind one proxy share an
    /// address.
    pub max_connections_per_address: u32,
    /// Maximum requests of one user in flight, with all tokens. Open event streams and the requests of worker nodes and
    /// runners do not count; agents that act for the user may use a quarter more.
    pub max_requests_per_user: u32,
    /// Maximum requests in flight of agents whose token is bound to one project.
    pub max_requests_per_project: u32,
    /// Maximum open event streams of one user.
    pub max_streams_per_user: u32,
    /// Sustained request rate of one user, with all tokens; 0 means no limit.
    pub requests_per_second_per_user: u32,
    /// Sustained request rate of agents whose token is bound to one project; 0 means no limit.
    pub requests_per_second_per_project: u32,
    /// Seconds of the sustained rate that may be sent at once.
    pub request_burst_s: u32,
    /// Addresses and networks of reverse proxies, such as `10.0.0.0/8`, whose header `X-Forwarded-For` names the client.
    pub trusted_proxies: Vec<String>,
    /// Database URL; the embedded database in the data directory when absent.
    pub database_url: Option<String>,
    /// Whether to start with an empty database even if files of earlier tasks exist.
    pub allow_new_database: bool,
    /// File with the token of runners.
    pub runner_token_file: Option<PathBuf>,
    /// File with the join token of worker nodes.
    pub join_token_file: Option<PathBuf>,
    /// File with the key that signs the audit log; `audit.key` in the data directory when absent. Orchestrators that
    /// share a database share this key.
    pub audit_key_file: Option<PathBuf>,
    /// Public keys, in base64, whose signatures of the audit log count too, such as that of an earlier key.
    pub audit_trusted_keys: Vec<String>,
    /// Where every audit record is sent too: `file:/path`, `syslog:/dev/log`, `syslog:udp:host:514`,
    /// `syslog:tcp:host:601` or `otlp:http://host:4318`.
    pub audit_stream: Vec<String>,
    /// The most memory that a task may ask for its jobs, in MiB.
    pub max_job_memory_mib: u32,
    /// The most disk that a task may ask for its jobs, in MiB.
    pub max_job_disk_mib: u32,
    /// The most processes that a task may ask for each of its jobs.
    pub max_job_processes: u32,
    /// The longest time that a task may ask for each of its jobs, in seconds.
    pub max_job_timeout_s: u32,
    /// The most MiB that the files of one user's tasks may take; 0 is no limit.
    pub max_storage_mib_per_user: u32,
    /// The most MiB that the files of one project's tasks may take; 0 is no limit.
    pub max_storage_mib_per_project: u32,
    /// Free disk of its state directory that a worker node must have to get jobs, in MiB.
    pub min_node_free_disk_mib: u32,
    /// Lease of a job: it counts as interrupted if its worker node does not report it for this long.
    pub job_lease_ms: u32,
    /// Timeout between two chunks of a streamed chat answer, in seconds; a non-streamed answer may take at most 290.
    pub chat_wait_s: u32,
    /// Addresses of project manager processes: `unix:/path` or `host:port` of this machine. Without any,
    /// decisions are made by rule.
    pub pma_addresses: Vec<String>,
    /// File with the secret shared with the project manager.
    pub pma_secret_file: Option<PathBuf>,
    /// Maximum number of open handoffs.
    pub pma_max_open: u32,
    /// Timeout of a chat turn of the project manager, in seconds.
    pub pma_chat_timeout_s: u32,
    /// Timeout of any other handoff, in seconds. Runs that wait for a plan hold no lease meanwhile.
    pub pma_timeout_s: u32,
    /// Whether analysts verify criteria that no rule can judge.
    pub pma_analysts: bool,
    /// Maximum number of concurrent analysts.
    pub pma_analysts_max: u32,
    /// Timeout of an analyst, in seconds.
    pub pma_analyst_timeout_s: u32,
    /// Command that starts an analyst; when empty, this program or the `cynode-pma` next to it.
    pub pma_analyst_command: Vec<String>,
    /// The config file given on the command line, passed on to analysts.
    #[serde(skip)]
    pub config_file: Option<PathBuf>,
}

/// A shorter lease would interrupt healthy jobs on a busy machine.
const JOB_LEASE_MS: RangeInclusive<u32> = 1_000..=3_600_000;
const CONNECTIONS: RangeInclusive<u32> = 16..=1_000_000;
const REQUESTS: RangeInclusive<u32> = 1..=1_000_000;
const REQUEST_RATE: RangeInclusive<u32> = 0..=1_000_000;
const REQUEST_BURST_S: RangeInclusive<u32> = 1..=3600;
const CHAT_WAIT: RangeInclusive<u32> = 1..=3600;
/// Less than the time limit for the response headers of a request.
const WHOLE_ANSWER_S: u32 = 290;
const OPEN: RangeInclusive<u32> = 1..=1024;
const SECONDS: RangeInclusive<u32> = 1..=3600;
const ANALYSTS: RangeInclusive<u32> = 1..=64;

impl Default for OrchestratorOptions {
    fn default() -> Self {
        let requests = RequestLimitOptions::default();
        Self {
            listen: "127.0.0.1:12080".to_owned(),
            max_connections: 8192,
            max_connections_per_address: 2048,
            max_requests_per_user: requests.requests_per_user,
            max_requests_per_project: requests.requests_per_project,
            max_streams_per_user: requests.streams_per_user,
            requests_per_second_per_user: requests.user_rate_per_second,
            requests_per_second_per_project: requests.project_rate_per_second,
            request_burst_s: requests.burst_seconds,
            trusted_proxies: vec![],
            database_url: None,
            allow_new_database: false,
            runner_token_file: None,
            join_token_file: None,
            audit_key_file: None,
            audit_trusted_keys: vec![],
            audit_stream: vec![],
            max_job_memory_mib: 32 * 1024,
            max_job_disk_mib: 256 * 1024,
            max_job_processes: Limits::MAX.processes,
            max_job_timeout_s: Limits::MAX.timeout_s,
            max_storage_mib_per_user: 50 * 1024,
            max_storage_mib_per_project: 50 * 1024,
            min_node_free_disk_mib: MIN_FREE_DISK_MIB,
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

impl ConfigSection for OrchestratorOptions {
    const NAME: &'static str = "orchestrator";

    fn validate(&self) -> Vec<ConfigFault> {
        let mut faults = vec![];
        if self.listen.to_socket_addrs().is_err() {
            let allowed = "host:port, such as 127.0.0.1:12080";
            faults.push(ConfigFault::new("orchestrator.listen", &self.listen, allowed));
        }
        for address in self.pma_addresses.iter().filter(|text| PmaAddress::parse(text).is_none()) {
            let allowed = "unix:/path or host:port";
            faults.push(ConfigFault::new(
                "orchestrator.pma_addresses",
                format!("{address:?}"),
                allowed,
            ));
        }
        if let Err(text) = TrustedProxies::parse(&self.trusted_proxies) {
            let allowed = "addresses and networks, such as 10.0.0.7 and 10.0.0.0/8";
            faults.push(ConfigFault::new("orchestrator.trusted_proxies", text, allowed));
        }
        for key in self.audit_trusted_keys.iter().filter(|key| parse_public_key(key).is_none()) {
            let allowed = "an Ed25519 public key, 32 bytes in base64";
            faults.push(ConfigFault::new("orchestrator.audit_trusted_keys", key, allowed));
        }
        for target in &self.audit_stream {
            if let Err(allowed) = target.parse::<StreamTarget>() {
                let text = format!("{target:?}");
                faults.push(ConfigFault::new("orchestrator.audit_stream", text, allowed));
            }
        }
        for (key, value, range) in
            self.ranges().into_iter().filter(|(_, value, range)| !range.contains(value))
        {
            let allowed = format!("{} to {}", range.start(), range.end());
            faults.push(ConfigFault::new(format!("orchestrator.{key}"), value, allowed));
        }
        faults
    }
}

impl OrchestratorOptions {
    /// Numbers and what they may be.
    fn ranges(&self) -> Vec<(&'static str, u32, RangeInclusive<u32>)> {
        vec![
            ("max_connections", self.max_connections, CONNECTIONS),
            ("max_connections_per_address", self.max_connections_per_address, CONNECTIONS),
            ("max_requests_per_user", self.max_requests_per_user, REQUESTS),
            ("max_requests_per_project", self.max_requests_per_project, REQUESTS),
            ("max_streams_per_user", self.max_streams_per_user, REQUESTS),
            ("requests_per_second_per_user", self.requests_per_second_per_user, REQUEST_RATE),
            ("requests_per_second_per_project", self.requests_per_second_per_project, REQUEST_RATE),
            ("request_burst_s", self.request_burst_s, REQUEST_BURST_S),
            ("max_job_memory_mib", self.max_job_memory_mib, 1..=Limits::MAX.memory_mib),
            ("max_job_disk_mib", self.max_job_disk_mib, 1..=Limits::MAX.disk_mib),
            ("max_job_processes", self.max_job_processes, 1..=Limits::MAX.processes),
            ("max_job_timeout_s", self.max_job_timeout_s, 1..=Limits::MAX.timeout_s),
            ("min_node_free_disk_mib", self.min_node_free_disk_mib, 0..=1 << 20),
            ("job_lease_ms", self.job_lease_ms, JOB_LEASE_MS),
            ("chat_wait_s", self.chat_wait_s, CHAT_WAIT),
            ("pma_max_open", self.pma_max_open, OPEN),
            ("pma_chat_timeout_s", self.pma_chat_timeout_s, SECONDS),
            ("pma_timeout_s", self.pma_timeout_s, SECONDS),
            ("pma_analysts_max", self.pma_analysts_max, ANALYSTS),
            ("pma_analyst_timeout_s", self.pma_analyst_timeout_s, SECONDS),
        ]
    }

    pub(crate) fn connection_limits(&self) -> ConnectionLimits {
        let count = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
        let (total, per_address) =
            (count(self.max_connections), count(self.max_connections_per_address));
        // Validated when the configuration was loaded; without a list no header is believed.
        let proxies = TrustedProxies::parse(&self.trusted_proxies).unwrap_or_default();
        let header_timeout = HEADER_TIMEOUT;
        ConnectionLimits { total, per_address, header_timeout, proxies }.within_open_files()
    }

    pub(crate) fn request_limits(&self) -> RequestLimitOptions {
        RequestLimitOptions {
            requests_per_user: self.max_requests_per_user,
            requests_per_project: self.max_requests_per_project,
            streams_per_user: self.max_streams_per_user,
            user_rate_per_second: self.requests_per_second_per_user,
            project_rate_per_second: self.requests_per_second_per_project,
            burst_seconds: self.request_burst_s,
        }
    }

    pub(crate) fn audit_options(&self, data_dir: &Path) -> AuditOptions {
        AuditOptions {
            key_file: self.audit_key_file.clone(),
            trusted_keys: self.audit_trusted_keys.clone(),
            ..AuditOptions::new(data_dir)
        }
    }

    /// Validated when the configuration was loaded.
    pub(crate) fn stream_targets(&self) -> Vec<StreamTarget> {
        self.audit_stream.iter().filter_map(|target| target.parse().ok()).collect()
    }

    pub(crate) fn job_ceiling(&self) -> Limits {
        Limits {
            timeout_s: self.max_job_timeout_s,
            memory_mib: self.max_job_memory_mib,
            processes: self.max_job_processes,
            disk_mib: self.max_job_disk_mib,
            ..Limits::MAX
        }
    }

    pub(crate) fn storage_limits(&self) -> StorageLimits {
        let bytes = |mib: u32| (mib > 0).then(|| i64::from(mib) * 1024 * 1024);
        StorageLimits {
            user_bytes: bytes(self.max_storage_mib_per_user),
            project_bytes: bytes(self.max_storage_mib_per_project),
        }
    }

    pub(crate) fn chat_options(&self) -> ChatOptions {
        let seconds = |seconds: u32| Duration::from_secs(seconds.into());
        let (chunk_timeout, answer_timeout) =
            (seconds(self.chat_wait_s), seconds(self.chat_wait_s.min(WHOLE_ANSWER_S)));
        ChatOptions { chunk_timeout, answer_timeout, ..ChatOptions::default() }
    }

    pub(crate) fn handoff_options(&self) -> HandoffOptions {
        HandoffOptions {
            max_open: usize::try_from(self.pma_max_open).unwrap_or(usize::MAX),
            chat_within: Duration::from_secs(self.pma_chat_timeout_s.into()),
            timeout: Duration::from_secs(self.pma_timeout_s.into()),
            ..HandoffOptions::default()
        }
    }

    pub(crate) fn analyst_options(&self) -> AnalystOptions {
        AnalystOptions {
            is_enabled: self.pma_analysts,
            max: usize::try_from(self.pma_analysts_max).unwrap_or(usize::MAX),
            timeout: Duration::from_secs(self.pma_analyst_timeout_s.into()),
        }
    }

    /// The database URL, or the default.
    pub(crate) fn database_url(&self, data_dir: &Path) -> String {
        let embedded = || format!("sqlite:{}", data_dir.join("cynode.db").display());
        self.database_url.clone().unwrap_or_else(embedded)
    }
}

#[cfg(test)]
mod tests {
    use cynode_runtime::config::{ConfigSources, load};

    use super::*;

    fn load_options(file: &str, env: &[(&str, &str)]) -> OrchestratorOptions {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cynode.toml");
        std::fs::write(&path, file).unwrap();
        let env = env.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        load(&ConfigSources { file: Some(path), env, ..ConfigSources::default() }).unwrap()
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
            is_enabled: is_on,
            max,
            timeout: Duration::from_secs(seconds),
        };

        assert_eq!(load_options("", &[]).analyst_options(), options(true, 2, 600));
        assert_eq!(load_options("", &env).analyst_options(), options(false, 7, 30));
        assert_eq!(load_options(file, &env).analyst_options(), options(false, 5, 90));
        let on = file.replace("false", "true");
        assert_eq!(
            load_options(&on, &env).analyst_options(),
            options(true, 5, 90),
            "the file beats it"
        );
    }

    #[test]
    fn limits_of_storage_come_from_file_then_environment_then_default_and_zero_is_none() {
        let file =
            "[orchestrator]\nmax_storage_mib_per_user = 0\nmax_storage_mib_per_project = 1\n";
        let env = [
            ("CYNODE_ORCHESTRATOR__MAX_STORAGE_MIB_PER_USER", "2"),
            ("CYNODE_ORCHESTRATOR__MAX_STORAGE_MIB_PER_PROJECT", "4294967295"),
        ];
        let limits = |user_bytes: Option<i64>, project_bytes: Option<i64>| StorageLimits {
            user_bytes,
            project_bytes,
        };
        let mib = 1024 * 1024;

        let usual = Some(51_200 * mib);
        assert_eq!(load_options("", &[]).storage_limits(), limits(usual, usual));
        let of_env = limits(Some(2 * mib), Some(i64::from(u32::MAX) * mib));
        assert_eq!(load_options("", &env).storage_limits(), of_env);
        assert_eq!(load_options(file, &env).storage_limits(), limits(None, Some(mib)));
    }

    #[test]
    fn limits_of_requests_come_from_file_then_environment_then_default() {
        let file = "[orchestrator]\nmax_requests_per_user = 7\nrequests_per_second_per_user = 9\n";
        let env = [
            ("CYNODE_ORCHESTRATOR__MAX_REQUESTS_PER_USER", "5"),
            ("CYNODE_ORCHESTRATOR__MAX_REQUESTS_PER_PROJECT", "3"),
            ("CYNODE_ORCHESTRATOR__MAX_STREAMS_PER_USER", "2"),
            ("CYNODE_ORCHESTRATOR__REQUESTS_PER_SECOND_PER_PROJECT", "4"),
            ("CYNODE_ORCHESTRATOR__REQUEST_BURST_S", "6"),
        ];

        assert_eq!(load_options("", &[]).request_limits(), RequestLimitOptions::default());
        let limits = RequestLimitOptions {
            requests_per_user: 5,
            requests_per_project: 3,
            streams_per_user: 2,
            user_rate_per_second: 0,
            project_rate_per_second: 4,
            burst_seconds: 6,
        };
        assert_eq!(load_options("", &env).request_limits(), limits);
        let of_file =
            RequestLimitOptions { requests_per_user: 7, user_rate_per_second: 9, ..limits };
        assert_eq!(load_options(file, &env).request_limits(), of_file);
    }

    #[test]
    fn limits_of_requests_out_of_range_are_reported() {
        let options = OrchestratorOptions {
            max_requests_per_user: 0,
            requests_per_second_per_project: 1_000_001,
            request_burst_s: 0,
            ..OrchestratorOptions::default()
        };

        let keys: Vec<_> = options.validate().into_iter().map(|fault| fault.key).collect();

        let expected =
            ["max_requests_per_user", "requests_per_second_per_project", "request_burst_s"];
        assert_eq!(keys, expected.map(|key| format!("orchestrator.{key}")));
    }

    #[test]
    fn limits_of_analysts_out_of_range_are_reported() {
        let options = OrchestratorOptions {
            pma_analysts_max: 65,
            pma_analyst_timeout_s: 0,
            ..OrchestratorOptions::default()
        };

        let keys: Vec<_> = options.validate().into_iter().map(|fault| fault.key).collect();

        assert_eq!(keys, ["orchestrator.pma_analysts_max", "orchestrator.pma_analyst_timeout_s"]);
    }
}
