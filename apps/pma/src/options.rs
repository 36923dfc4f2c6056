//! Section `[pma]` of `cynode.toml`.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::bail;
use cynode_agent::brain::{BrainOptions, CassetteMode};
use cynode_runtime::config::{ConfigFault, ConfigSection};
use cynode_runtime::planner::PlannerOptions;
use cynode_wire::handoff::AgentRole;
use serde::{Deserialize, Serialize};

const OPEN: RangeInclusive<u32> = 1..=1024;
const THINK_S: RangeInclusive<u32> = 1..=3600;
const RETRIES: RangeInclusive<u32> = 0..=10;
const TOKENS: RangeInclusive<u32> = 16..=1_000_000;
const ROLES: &str = "project_manager or project_analyst";
const CASSETTE: [&str; 3] = ["off", "record", "replay"];
const LISTEN: &str = "unix:/path or a loopback address, such as 127.0.0.1:12090";

/// Section `[pma]` of `cynode.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PmaOptions {
    /// The role of the process; required.
    pub role: Option<String>,
    /// The address for handoffs; `run/pma/<role>.sock` in the data directory when absent.
    pub listen: Option<String>,
    pub orchestrator_url: String,
    /// File with the secret that the orchestrator presents; `pma.secret` in the data directory when absent.
    pub secret_file: Option<PathBuf>,
    /// Directory with the instructions of both roles; the built-in ones when absent.
    pub instructions_root: Option<PathBuf>,
    /// Directory with the instructions of the project manager; `project_manager` in the root when
    /// absent.
    pub instructions_project_manager: Option<PathBuf>,
    /// Directory with the instructions of analysts; `project_analyst` in the root when absent.
    pub instructions_project_analyst: Option<PathBuf>,
    /// The most concurrent handoffs.
    pub max_open: u32,
    /// The longest silence of the orchestrator during a model request, in seconds. The timeouts of providers are set in
    /// the orchestrator (`models.timeouts`).
    pub think_timeout_s: u32,
    /// The longest duration of one model request, in seconds.
    pub think_max_s: u32,
    /// Retries of a model request without an answer.
    pub think_retries: u32,
    /// The most tokens of a model's answer.
    pub think_max_tokens: u32,
    /// Whether the process fails to start if the kernel cannot confine it.
    pub require_confinement: bool,
    /// Records model exchanges, or replays recorded ones: off, record or replay.
    pub cassette: String,
    /// Directory of recorded exchanges; `cassettes` in the data directory when absent.
    pub cassette_dir: Option<PathBuf>,
}

impl Default for PmaOptions {
    fn default() -> Self {
        Self {
            role: None,
            listen: None,
            orchestrator_url: "http://127.0.0.1:12080".to_owned(),
            secret_file: None,
            instructions_root: None,
            instructions_project_manager: None,
            instructions_project_analyst: None,
            max_open: 32,
            think_timeout_s: 60,
            think_max_s: 1800,
            think_retries: 1,
            think_max_tokens: 4000,
            require_confinement: false,
            cassette: "off".to_owned(),
            cassette_dir: None,
        }
    }
}

impl ConfigSection for PmaOptions {
    const NAME: &'static str = "pma";
    const ENV_ALIASES: &'static [(&'static str, &'static str)] = &[
        ("PMA_ROLE", "role"),
        ("PMA_LISTEN_ADDR", "listen"),
        ("PMA_INSTRUCTIONS_ROOT", "instructions_root"),
        ("PMA_INSTRUCTIONS_PROJECT_MANAGER", "instructions_project_manager"),
        ("PMA_INSTRUCTIONS_PROJECT_ANALYST", "instructions_project_analyst"),
    ];

    fn validate(&self) -> Vec<ConfigFault> {
        let mut faults = vec![];
        if let Some(role) = &self.role
            && parse_role(role).is_none()
        {
            faults.push(ConfigFault::new("pma.role", format!("{role:?}"), ROLES));
        }
        if let Some(listen) = &self.listen
            && HandoffAddress::parse(listen).is_none()
        {
            faults.push(ConfigFault::new("pma.listen", format!("{listen:?}"), LISTEN));
        }
        for (key, value, range) in [
            ("pma.max_open", self.max_open, OPEN),
            ("pma.think_timeout_s", self.think_timeout_s, THINK_S),
            ("pma.think_max_s", self.think_max_s, THINK_S),
            ("pma.think_retries", self.think_retries, RETRIES),
            ("pma.think_max_tokens", self.think_max_tokens, TOKENS),
        ] {
            if !range.contains(&value) && !cynode_fault::fault!("PMA-18") {
                let allowed = format!("{} to {}", range.start(), range.end());
                faults.push(ConfigFault::new(key, value, allowed));
            }
        }
        if !CASSETTE.contains(&self.cassette.as_str()) {
            let allowed = CASSETTE.join(", ");
            faults.push(ConfigFault::new("pma.cassette", format!("{:?}", self.cassette), allowed));
        }
        faults
    }
}

impl PmaOptions {
    /// Returns the role; fails if none is configured.
    pub fn role(&self) -> anyhow::Result<AgentRole> {
        match self.role.as_deref().and_then(parse_role) {
            Some(role) => Ok(role),
            None => bail!(
                "no role was chosen: pass --role={ROLES}, or set role in [pma] of the config file, or PMA_ROLE"
            ),
        }
    }

    /// The address for handoffs.
    pub fn handoff_address(
        &self,
        role: AgentRole,
        data_dir: &Path,
    ) -> anyhow::Result<HandoffAddress> {
        let Some(listen) = &self.listen else {
            return Ok(HandoffAddress::Unix(
                data_dir.join(format!("run/pma/{}.sock", role.as_str())),
            ));
        };
        match HandoffAddress::parse(listen) {
            Some(address) => Ok(address),
            None => bail!("pma.listen is {listen:?}; allowed is {LISTEN}"),
        }
    }

    /// The options of the brain, with the limits of `planner`.
    pub fn brain(&self, planner: &PlannerOptions, cassette: CassetteMode) -> BrainOptions {
        BrainOptions {
            silence_timeout: Duration::from_secs(self.think_timeout_s.into()),
            max_request_duration: Duration::from_secs(self.think_max_s.into()),
            max_retries: self.think_retries,
            temperature: planner.temperature,
            max_tokens: self.think_max_tokens.into(),
            max_steps: planner.max_steps,
            cassette,
        }
    }

    /// The cassette mode and its directory.
    pub fn cassette(&self, data_dir: &Path) -> CassetteMode {
        let folder = || self.cassette_dir.clone().unwrap_or_else(|| data_dir.join("cassettes"));
        match self.cassette.as_str() {
            "record" => CassetteMode::Record(folder()),
            "replay" => CassetteMode::Replay(folder()),
            _ => CassetteMode::Off,
        }
    }

    /// The file with the secret that the orchestrator presents.
    pub fn secret_file(&self, data_dir: &Path) -> PathBuf {
        self.secret_file.clone().unwrap_or_else(|| data_dir.join("pma.secret"))
    }
}

fn parse_role(word: &str) -> Option<AgentRole> {
    AgentRole::ALL.into_iter().find(|role| role.as_str() == word)
}

/// The address for handoffs: only local ones are accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HandoffAddress {
    /// A Unix socket.
    Unix(PathBuf),
    /// A loopback TCP port.
    Loopback(SocketAddr),
}

impl HandoffAddress {
    fn parse(listen: &str) -> Option<Self> {
        if let Some(path) = listen.strip_prefix("unix:") {
            return (!path.is_empty()).then(|| Self::Unix(PathBuf::from(path)));
        }
        let mut found = listen.to_socket_addrs().ok()?;
        found.find(|address| address.ip().is_loopback()).map(Self::Loopback)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use clap::Parser;
    use cynode_runtime::config::{ConfigSources, load};

    use super::*;
    use crate::Cli;

    fn load_options(arguments: &[&str], file: Option<&str>, env: &[(&str, &str)]) -> PmaOptions {
        let cli = Cli::parse_from([&["cynode-pma"], arguments].concat());
        let flags = toml::Table::try_from(&cli).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cynode.toml");
        std::fs::write(&path, file.unwrap_or_default()).unwrap();
        let env: BTreeMap<_, _> =
            env.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        load(&ConfigSources { file: Some(path), env, flags }).unwrap()
    }

    #[test]
    fn a_flag_beats_the_file_and_the_file_beats_the_environment_for_the_role() {
        let (manager, analyst) = ("project_manager", "project_analyst");
        let file = format!("[pma]\nrole = \"{analyst}\"\n");
        let env = [("PMA_ROLE", manager)];

        let flag = load_options(&["--role", manager], Some(&file), &[("PMA_ROLE", analyst)]);
        assert_eq!(flag.role().unwrap(), AgentRole::ProjectManager);
        assert_eq!(load_options(&[], Some(&file), &env).role().unwrap(), AgentRole::ProjectAnalyst);
        assert_eq!(load_options(&[], None, &env).role().unwrap(), AgentRole::ProjectManager);
        let nobody = load_options(&[], None, &[]).role().unwrap_err().to_string();
        assert!(nobody.contains("pass --role="), "{nobody}");
    }

    #[test]
    fn the_paths_of_instructions_are_found_by_flag_file_and_environment() {
        let root = "PMA_INSTRUCTIONS_ROOT";
        let file = "[pma]\ninstructions_root = \"/file\"\n";

        let flag = load_options(&["--instructions-root", "/flag"], Some(file), &[(root, "/env")]);
        assert_eq!(flag.instructions_root, Some(PathBuf::from("/flag")));
        let from_file = load_options(&[], Some(file), &[(root, "/env")]);
        assert_eq!(from_file.instructions_root, Some(PathBuf::from("/file")));
        let from_env = load_options(&[], None, &[(root, "/env")]);
        assert_eq!(from_env.instructions_root, Some(PathBuf::from("/env")));
        let own = load_options(&[], None, &[("PMA_INSTRUCTIONS_PROJECT_ANALYST", "/own")]);
        assert_eq!(own.instructions_project_analyst, Some(PathBuf::from("/own")));
    }

    #[test]
    fn how_long_it_thinks_and_how_many_steps_it_takes_are_configured() {
        let file = Some("[pma]\nthink_timeout_s = 300\nthink_max_tokens = 900\n");
        let options = load_options(&["--think-retries", "0"], file, &[]);
        let mut planner = PlannerOptions::default();
        planner.max_steps = 3;
        planner.temperature = 1.5;

        let brain = options.brain(&planner, CassetteMode::Off);

        assert_eq!((brain.silence_timeout, brain.max_retries), (Duration::from_mins(5), 0));
        assert_eq!(brain.max_request_duration, Duration::from_mins(30));
        assert_eq!((brain.max_tokens, brain.max_steps, brain.temperature), (900, 3, 1.5));
        let usual = PmaOptions::default().brain(&PlannerOptions::default(), CassetteMode::Off);
        assert_eq!(usual, BrainOptions::default(), "the defaults of both are the same");
        let faulty = PmaOptions { think_timeout_s: 0, think_max_tokens: 1, ..options };
        assert_eq!(faulty.validate().len(), 2);
    }

    #[test]
    fn records_of_exchanges_are_off_unless_somebody_asks_for_them() {
        let data_dir = Path::new("/data");

        assert_eq!(load_options(&[], None, &[]).cassette(data_dir), CassetteMode::Off);
        let file = Some("[pma]\ncassette = \"replay\"\n");
        let replay = CassetteMode::Replay(PathBuf::from("/data/cassettes"));
        assert_eq!(load_options(&[], file, &[]).cassette(data_dir), replay);
        let flags = ["--cassette", "record", "--cassette-dir", "/own"];
        let record = CassetteMode::Record(PathBuf::from("/own"));
        assert_eq!(load_options(&flags, file, &[]).cassette(data_dir), record);
    }

    #[test]
    fn the_project_manager_listens_on_this_machine_only() {
        assert_eq!(
            HandoffAddress::parse("unix:/run/p"),
            Some(HandoffAddress::Unix(PathBuf::from("/run/p")))
        );
        let loopback = HandoffAddress::parse("127.0.0.1:7");
        assert_eq!(loopback, Some(HandoffAddress::Loopback("127.0.0.1:7".parse().unwrap())));
        for elsewhere in ["0.0.0.0:7", "192.0.2.1:7", "[::]:7", "unix:", "7"] {
            assert_eq!(HandoffAddress::parse(elsewhere), None, "{elsewhere}");
        }
    }

    #[test]
    fn every_fault_of_the_section_is_reported_at_once() {
        let options = PmaOptions {
            role: Some("boss".to_owned()),
            listen: Some("0.0.0.0:1".to_owned()),
            max_open: 0,
            cassette: "play".to_owned(),
            ..PmaOptions::default()
        };

        let keys: Vec<_> = options.validate().into_iter().map(|fault| fault.key).collect();

        assert_eq!(keys, ["pma.role", "pma.listen", "pma.max_open", "pma.cassette"]);
    }
}
