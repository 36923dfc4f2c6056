//! A private orchestrator, with the fixture installed behind its gateway.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::http::LocalEndpoint;
use crate::orchestrator::TestOrchestrator;
use crate::tool;

/// The name of the installed fixture: `/mcp/fixture` exposes its names without a prefix.
const SLUG: &str = "fixture";

/// A gateway in front of the fixture.
#[derive(Debug)]
pub(super) struct ConformanceGateway {
    orchestrator: TestOrchestrator,
    token: String,
}

impl ConformanceGateway {
    /// Starts an orchestrator on an empty data directory and installs the server at `fixture`.
    /// Servers that are processes may read `exposed`.
    pub(super) fn start(fixture: &str, exposed: &[PathBuf]) -> Result<Self> {
        let exposed: Vec<_> = exposed.iter().map(|path| path.to_string_lossy()).collect();
        // A list of strings has the same syntax in JSON and TOML.
        let config = format!("[gateway]\nexpose = {}\n", json!(exposed));
        let directory = tool::target_dir().join("conformance/gateway");
        let orchestrator = TestOrchestrator::start(directory, &config)?;
        orchestrator.run_cynork(&["servers", "add-http", SLUG, fixture])?;
        let issued =
            orchestrator.run_cynork(&["agent-token", "issue", "conformance", "--agent", "pm"])?;
        let token = issued["secret"].as_str().context("no secret was issued")?.to_owned();
        Ok(Self { orchestrator, token })
    }

    /// The virtual server over the fixture.
    pub(super) fn fixture_endpoint(&self) -> LocalEndpoint {
        LocalEndpoint { address: self.orchestrator.address(), path: format!("/mcp/{SLUG}") }
    }

    /// The endpoint with the tools of all servers.
    pub(super) fn all_tools_endpoint(&self) -> LocalEndpoint {
        LocalEndpoint { address: self.orchestrator.address(), path: "/mcp".to_owned() }
    }

    /// The token of a project manager.
    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// Runs `cynork` as the administrator; returns its JSON output.
    pub(super) fn run_cynork(&self, args: &[&str]) -> Result<Value> {
        self.orchestrator.run_cynork(args)
    }
}
