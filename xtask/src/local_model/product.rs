//! An orchestrator that has the model as its provider.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::Place;
use super::server::MODEL;
use crate::orchestrator::Orchestrator;
use crate::tool;

/// The name of the provider.
const PROVIDER: &str = "local";

/// An orchestrator, and the token of an agent.
pub(super) struct Product {
    orchestrator: Orchestrator,
    agent_token: PathBuf,
}

impl Product {
    /// Starts an orchestrator and tells it where the model is.
    pub(super) fn start(model_url: &str) -> Result<Self> {
        let directory = tool::target_dir().join("tools/local-model/product");
        let orchestrator = Orchestrator::start(directory.clone(), "")?;
        let provider = ["models", "add-provider", PROVIDER, "--kind", "openai"];
        let rest = ["--url", model_url, "--allow", "everyone"];
        orchestrator.cynork(&[provider.as_slice(), &rest].concat())?;
        let issued = orchestrator.cynork(&["agent-token", "issue", "local", "--agent", "pm"])?;
        let secret = issued["secret"].as_str().context("no secret was issued")?;
        let agent_token = directory.join("agent.token");
        fs::write(&agent_token, secret)?;
        Ok(Self { orchestrator, agent_token })
    }

    /// Where people chat.
    pub(super) fn chat(&self) -> Place {
        self.place("/v1", self.orchestrator.token_file())
    }

    /// Where agents ask models.
    pub(super) fn egress(&self) -> Place {
        self.place("/v1/egress", self.agent_token.clone())
    }

    fn place(&self, path: &str, token_file: PathBuf) -> Place {
        let url = format!("http://{}{path}", self.orchestrator.address());
        Place { url, token_file: Some(token_file), model: format!("{PROVIDER}/{MODEL}") }
    }

    /// Checks that `count` calls of the model are on record; the sums.
    pub(super) fn noted(&self, count: usize) -> Result<String> {
        let calls = self.orchestrator.cynork(&["brain", "calls"])?;
        let rows = calls["calls"]["items"].as_array().context("there is no record of calls")?;
        let is_fine = |row: &&Value| row["outcome"] == "success" && row["model"] == MODEL;
        if rows.iter().filter(is_fine).count() != count {
            bail!("not all calls are on record: {calls}");
        }
        Ok(calls["totals"].to_string())
    }
}
