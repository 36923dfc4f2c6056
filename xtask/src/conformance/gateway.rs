//! An orchestrator of its own, with the fixture installed behind its gateway.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::http::Endpoint;
use crate::orchestrator::Orchestrator;
use crate::tool;

/// The name under which the fixture is installed: `/mcp/fixture` shows its names unprefixed.
const SLUG: &str = "fixture";

/// A gateway in front of the fixture.
#[derive(Debug)]
pub(super) struct Gateway {
    orchestrator: Orchestrator,
    token: String,
}

impl Gateway {
    /// Starts an orchestrator on an empty data directory and installs the server at `fixture`.
    /// Servers that are processes may read `exposed`.
    pub(super) fn start(fixture: &str, exposed: &[PathBuf]) -> Result<Self> {
        let exposed: Vec<_> = exposed.iter().map(|path| path.to_string_lossy()).collect();
        // A list of strings is written alike in JSON and TOML.
        let config = format!("[gateway]\nexpose = {}\n", json!(exposed));
        let directory = tool::target_dir().join("conformance/gateway");
        let orchestrator = Orchestrator::start(directory, &config)?;
        orchestrator.cynork(&["servers", "add-http", SLUG, fixture])?;
        let issued =
            orchestrator.cynork(&["agent-token", "issue", "conformance", "--agent", "pm"])?;
        let token = issued["secret"].as_str().context("no secret was issued")?.to_owned();
        Ok(Self { orchestrator, token })
    }

    /// The virtual server over the fixture.
    pub(super) fn of_fixture(&self) -> Endpoint {
        Endpoint { address: self.orchestrator.address(), path: format!("/mcp/{SLUG}") }
    }

    /// The endpoint with the tools of all servers.
    pub(super) fn of_everything(&self) -> Endpoint {
        Endpoint { address: self.orchestrator.address(), path: "/mcp".to_owned() }
    }

    /// The token of a project manager.
    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// What the administrator's `cynork` says.
    pub(super) fn cynork(&self, args: &[&str]) -> Result<Value> {
        self.orchestrator.cynork(args)
    }
}
