//! The section `[node]` of `cynode.toml`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cynode_domain::image_name::{HOST_IMAGE, MAX_NODE_IMAGES, check_image_name};
use cynode_domain::node_labels::{NodeLabels, check_given};
use cynode_domain::policy::network::AllowedNetworks;
use cynode_image::ImageSource;
use cynode_runtime::config::{ConfigFault, ConfigSection};
use cynode_sandbox::sandbox::SandboxOptions;
use cynode_sandbox::spec::AgentProgram;
use cynode_worker::agent::{ImageOptions, LiveOptions, NodeDaemonOptions, RepositoryAccess};
use serde::{Deserialize, Serialize};

const MAX_CONCURRENCY: u32 = 64;
const MAX_RETENTION_H: u32 = 8760;
const MAX_IMAGE_STORAGE_GIB: u32 = 4096;
const MAX_SLUG: usize = 64;

/// The section `[node]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NodeOptions {
    pub orchestrator_url: String,
    /// File with the join token; by default `node-join.token` in the data directory.
    pub join_token_file: Option<PathBuf>,
    /// Directory of jobs and workspaces; by default `node` in the data directory.
    pub state_dir: Option<PathBuf>,
    /// Node name; by default the host name.
    pub slug: Option<String>,
    pub max_concurrency: u32,
    /// Address of the health endpoint; none by default.
    pub health_listen: Option<String>,
    /// How long the workspace of a closed task is kept, in hours.
    pub workspace_retention_h: u32,
    /// Labels by which tasks can choose this node, such as `zone = "eu"`.
    pub labels: NodeLabels,
    /// Images that jobs may run in, such as `python = "/srv/images/python.tar"`; every node has `host`.
    pub images: BTreeMap<String, String>,
    /// Maximum size of all unpacked images, in GiB.
    pub image_storage_gib: u32,
    /// Directories that jobs may read in addition to the system's, such as `/opt/toolchain`.
    pub expose: Vec<PathBuf>,
    /// The program of agents; by default `cynode-sba` next to this one.
    pub agent_program: Option<PathBuf>,
    /// Directories whose repositories tasks may use, such as `/srv/git`.
    pub repository_paths: Vec<PathBuf>,
    /// Internal networks and hosts whose repositories tasks may use, such as `10.0.0.0/8` or `git.internal`; plain http
    /// is allowed only to them.
    pub repository_networks: Vec<String>,
    /// Internal networks and hosts that agents may connect to, such as `10.0.0.0/8` or `registry.internal`, if their
    /// profile names the host.
    pub agent_networks: Vec<String>,
    /// Whether agents on this host may use tools of the node under capability leases, at `edge/mcp.sock` in its state
    /// directory.
    pub edge: bool,
    /// Features that the sandbox must enforce, such as `landlock`; without them the node does not start.
    pub require: Vec<String>,
}

impl Default for NodeOptions {
    fn default() -> Self {
        Self {
            orchestrator_url: "http://127.0.0.1:12080".to_owned(),
            join_token_file: None,
            state_dir: None,
            slug: None,
            max_concurrency: 4,
            health_listen: None,
            workspace_retention_h: 24,
            labels: NodeLabels::new(),
            images: BTreeMap::new(),
            image_storage_gib: 32,
            expose: vec![],
            agent_program: None,
            repository_paths: vec![],
            repository_networks: vec![],
            agent_networks: vec![],
            edge: false,
            require: vec![],
        }
    }
}

impl ConfigSection for NodeOptions {
    const NAME: &'static str = "node";

    fn validate(&self) -> Vec<ConfigFault> {
        let mut faults = Vec::new();
        if !(1..=MAX_CONCURRENCY).contains(&self.max_concurrency) {
            let allowed = format!("1 to {MAX_CONCURRENCY}");
            faults.push(ConfigFault::new("node.max_concurrency", self.max_concurrency, allowed));
        }
        if !(1..=MAX_RETENTION_H).contains(&self.workspace_retention_h) {
            let allowed = format!("1 to {MAX_RETENTION_H}");
            let value = self.workspace_retention_h;
            faults.push(ConfigFault::new("node.workspace_retention_h", value, allowed));
        }
        if let Some(slug) = self.slug.as_deref().filter(|slug| to_slug(slug) != *slug) {
            let allowed = format!("1 to {MAX_SLUG} lowercase letters, digits and dashes");
            faults.push(ConfigFault::new("node.slug", slug, allowed));
        }
        if let Err(error) = check_given(&self.labels) {
            let labels = self.labels.iter().map(|(key, value)| format!("{key}={value}"));
            let value = labels.collect::<Vec<_>>().join(", ");
            faults.push(ConfigFault::new("node.labels", value, error.to_string()));
        }
        faults.extend(validate_images(&self.images));
        if !(1..=MAX_IMAGE_STORAGE_GIB).contains(&self.image_storage_gib) {
            let allowed = format!("1 to {MAX_IMAGE_STORAGE_GIB}");
            let value = self.image_storage_gib;
            faults.push(ConfigFault::new("node.image_storage_gib", value, allowed));
        }
        for path in self.expose.iter().filter(|path| !is_exposable(path)) {
            let allowed = "an absolute path without links in it, and not /";
            faults.push(ConfigFault::new("node.expose", path.display(), allowed));
        }
        for path in self.repository_paths.iter().filter(|path| !is_exposable(path)) {
            let allowed = "an absolute path without links in it, and not /";
            faults.push(ConfigFault::new("node.repository_paths", path.display(), allowed));
        }
        for (key, entries) in [
            ("node.repository_networks", &self.repository_networks),
            ("node.agent_networks", &self.agent_networks),
        ] {
            if let Err(error) = parse_networks(entries) {
                faults.push(ConfigFault::new(key, entries.join(", "), error));
            }
        }
        faults
    }
}

impl NodeOptions {
    /// The options that a running node can change.
    pub(crate) fn live_options(&self) -> LiveOptions {
        // Validated before; an invalid list opens nothing.
        let networks = parse_networks(&self.repository_networks).unwrap_or_default();
        LiveOptions {
            max_concurrency: self.max_concurrency,
            labels: self.labels.clone(),
            repositories: RepositoryAccess::new(self.repository_paths.clone(), networks),
        }
    }

    /// The options of the node daemon, with defaults below `data_dir`.
    pub fn daemon_options(&self, data_dir: &Path) -> NodeDaemonOptions {
        let or = |path: &Option<PathBuf>, name: &str| {
            path.clone().unwrap_or_else(|| data_dir.join(name))
        };
        let mut sandbox = SandboxOptions::new(or(&self.state_dir, "node"));
        sandbox.expose.clone_from(&self.expose);
        sandbox.agent_program = match &self.agent_program {
            Some(path) => Some(AgentProgram { path: path.clone(), args: vec![] }),
            None => std::env::current_exe().ok().and_then(|own| find_agent_program(&own)),
        };
        let LiveOptions { max_concurrency, labels, repositories } = self.live_options();
        NodeDaemonOptions {
            orchestrator_url: self.orchestrator_url.clone(),
            join_token_file: or(&self.join_token_file, "node-join.token"),
            slug: self.slug.clone().unwrap_or_else(machine_slug),
            max_concurrency,
            labels,
            workspace_retention: Duration::from_hours(self.workspace_retention_h.into()),
            sandbox,
            required_features: self.require.clone(),
            repositories,
            agent_networks: parse_networks(&self.agent_networks).unwrap_or_default(),
            has_edge: self.edge,
            images: ImageOptions {
                sources: parse_images(&self.images),
                storage_bytes: u64::from(self.image_storage_gib) << 30,
            },
        }
    }
}

fn validate_images(images: &BTreeMap<String, String>) -> Vec<ConfigFault> {
    let mut faults = vec![];
    if images.len() > MAX_NODE_IMAGES {
        let allowed = format!("at most {MAX_NODE_IMAGES} images");
        faults.push(ConfigFault::new("node.images", images.len(), allowed));
    }
    for (name, source) in images {
        let key = format!("node.images.{name}");
        if name == HOST_IMAGE {
            let allowed = "another name: host is the node's own system";
            faults.push(ConfigFault::new(key, source, allowed));
        } else if let Err(error) = check_image_name(name) {
            faults.push(ConfigFault::new(key, source, error.to_string()));
        } else if let Err(error) = source.parse::<ImageSource>() {
            faults.push(ConfigFault::new(key, source, error.to_string()));
        }
    }
    faults
}

/// Validated before; an invalid source is no image.
fn parse_images(images: &BTreeMap<String, String>) -> BTreeMap<String, ImageSource> {
    let parse = |(name, source): (&String, &String)| Some((name.clone(), source.parse().ok()?));
    images.iter().filter_map(parse).collect()
}

fn parse_networks(entries: &[String]) -> Result<AllowedNetworks, String> {
    let entries = entries.iter().map(String::as_str);
    AllowedNetworks::parse(entries).map_err(|error| error.to_string())
}

/// The agent of this installation: `cynode` is every program in one, others have it next to them.
fn find_agent_program(own: &Path) -> Option<AgentProgram> {
    if own.ends_with("cynode") {
        let args = vec!["role".to_owned(), "sba".to_owned()];
        return Some(AgentProgram { path: own.to_owned(), args });
    }
    let path = own.with_file_name("cynode-sba");
    path.is_file().then(|| AgentProgram { path, args: vec![] })
}

/// Rejects links, which could resolve to a different path inside the sandbox root.
fn is_exposable(path: &Path) -> bool {
    path.is_absolute()
        && path.parent().is_some()
        && path.canonicalize().map_or(true, |real| real == path)
}

fn machine_slug() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match to_slug(&name) {
        slug if slug.is_empty() => "node".to_owned(),
        slug => slug,
    }
}

/// Converts `name` to the characters of a slug.
fn to_slug(name: &str) -> String {
    let slug: String = name
        .trim()
        .to_ascii_lowercase()
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' })
        .take(MAX_SLUG)
        .collect();
    slug.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_setting_out_of_range_is_reported_at_once() {
        let options = NodeOptions {
            max_concurrency: 0,
            slug: Some("My Node".to_owned()),
            expose: vec!["relative".into()],
            agent_networks: vec!["10.0.0.0/99".to_owned()],
            ..NodeOptions::default()
        };

        let faults: Vec<_> = options.validate().iter().map(ToString::to_string).collect();

        assert_eq!(
            faults,
            [
                "node.max_concurrency is 0; allowed is 1 to 64",
                "node.slug is My Node; allowed is 1 to 64 lowercase letters, digits and dashes",
                "node.expose is relative; allowed is an absolute path without links in it, and not /",
                "node.agent_networks is 10.0.0.0/99; allowed is \"10.0.0.0/99\" is not a network, address or host",
            ]
        );
    }

    #[test]
    fn an_image_needs_a_plain_name_other_than_host_and_a_source() {
        let images = [
            ("host", "/srv/x"),
            ("Upper", "/srv/x"),
            ("python", "python:3"),
            ("good", "/srv/x"),
            ("remote", "ghcr.io/a/b:1"),
        ];
        let images = images.map(|(name, source)| (name.to_owned(), source.to_owned())).into();
        let options = NodeOptions { images, ..NodeOptions::default() };

        let faults: Vec<_> = options.validate().iter().map(ToString::to_string).collect();

        assert_eq!(faults.len(), 3, "{faults:#?}");
        assert!(faults[0].contains("node.images.Upper"), "{faults:#?}");
        assert!(faults[1].contains("host is the node's own system"), "{faults:#?}");
        assert!(faults[2].contains("docker.io/library/alpine:3.20"), "{faults:#?}");
    }

    #[test]
    fn node_paths_default_to_the_data_directory() {
        let agent = NodeOptions::default().daemon_options(Path::new("/data"));

        assert_eq!(agent.join_token_file, Path::new("/data/node-join.token"));
        assert_eq!(agent.sandbox.state_dir, Path::new("/data/node"));
    }

    #[test]
    fn a_machine_name_becomes_a_slug() {
        assert_eq!(to_slug("Build_Host.example\n"), "build-host-example");
    }
}
