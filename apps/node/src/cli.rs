//! The command line of a worker node. Every flag is also a key of `[node]` in `cynode.toml`.

use std::path::PathBuf;

use clap::Parser;
use cynode_domain::node_labels::parse_label;
use serde::{Serialize, Serializer};

/// Worker node: joins an orchestrator, runs its jobs in sandboxes, and delivers results.
///
/// A killed node loses nothing: its jobs keep running, and it delivers their results when it is started again with
/// the same state directory.
#[derive(Debug, Clone, Default, Parser, Serialize)]
#[command(name = "cynode-node", version)]
pub struct Cli {
    /// Address of the orchestrator.
    #[arg(
        long,
        value_name = "URL",
        help = "Address of the orchestrator [default: http://127.0.0.1:12080]"
    )]
    pub orchestrator_url: Option<String>,
    /// File with the join token; must not be readable by others [default: node-join.token in the data directory]
    #[arg(long, value_name = "FILE")]
    pub join_token_file: Option<PathBuf>,
    /// Directory of jobs and workspaces [default: node in the data directory]
    #[arg(long, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
    /// Node name, unique in the installation [default: the host name]
    #[arg(long, value_name = "NAME")]
    pub slug: Option<String>,
    /// Maximum concurrent jobs [default: 4]
    #[arg(long, value_name = "NUMBER")]
    pub max_concurrency: Option<u32>,
    /// Label by which tasks can choose this node, such as zone=eu; may be repeated [default: none]
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = parse_label)]
    #[serde(serialize_with = "serialize_labels", skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<(String, String)>,
    /// Image that jobs may run in: a name and an OCI layout, an archive or a registry reference; may be repeated [default: none]
    #[arg(long = "image", value_name = "NAME=SOURCE", value_parser = parse_image)]
    #[serde(serialize_with = "serialize_images", skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<(String, String)>,
    /// Maximum size of all unpacked images, in GiB [default: 32]
    #[arg(long, value_name = "GIB")]
    pub image_storage_gib: Option<u32>,
    /// Program of agents [default: `cynode-sba` next to this program]
    #[arg(long, value_name = "FILE")]
    pub agent_program: Option<PathBuf>,
    /// Directory whose repositories tasks may use; may be repeated [default: none]
    #[arg(long = "repository-path", value_name = "DIR")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repository_paths: Vec<PathBuf>,
    /// Internal network or host whose repositories tasks may use, also over plain http; may be repeated [default: none]
    #[arg(long = "repository-network", value_name = "NETWORK")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repository_networks: Vec<String>,
    /// Internal network or host that agents may connect to, if their profile names the host; may be repeated [default: none]
    #[arg(long = "agent-network", value_name = "NETWORK")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agent_networks: Vec<String>,
    /// Offer tools of this node to agents on this host, under capability leases [default: off]
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edge: Option<bool>,
    /// Start only if the sandbox enforces this feature, for example `landlock`; may be repeated
    #[arg(long, value_name = "FEATURE")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub require: Vec<String>,
    /// Health endpoint.
    #[arg(
        long,
        value_name = "ADDRESS",
        help = "Address of /healthz, /readyz and /metrics: host:port or unix:/path [default: none]"
    )]
    pub health_listen: Option<String>,
    /// Config file [default: cynode.toml in the data directory, if it exists]
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    pub config: Option<PathBuf>,
    /// Data directory [default: ~/.local/share/cynode]
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
}

/// Parses `NAME=SOURCE`; names and sources are checked with those of the configuration file.
fn parse_image(text: &str) -> Result<(String, String), String> {
    let (name, source) = text.split_once('=').ok_or_else(|| {
        format!("\"{text}\" is no image; write NAME=SOURCE, such as python=/srv/images/python.tar")
    })?;
    Ok((name.to_owned(), source.to_owned()))
}

fn serialize_images<S: Serializer>(
    images: &[(String, String)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serialize_labels(images, serializer)
}

/// As the table that the configuration file has.
fn serialize_labels<S: Serializer>(
    labels: &[(String, String)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(labels.iter().map(|(key, value)| (key, value)))
}
