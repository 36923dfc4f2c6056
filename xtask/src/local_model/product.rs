//! The product with the model as its provider.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::ModelEndpoint;
use super::server::MODEL;
use crate::orchestrator::TestOrchestrator;
use crate::tool;

/// A typical first request, and its expected output.
const REQUEST: &str = "write the numbers 1 to 10 into a file and print their sum";
const SUM: &str = "55";
/// Name of the provider.
const PROVIDER: &str = "local";

/// An orchestrator, and the token of an agent.
pub(super) struct ProductUnderTest {
    orchestrator: TestOrchestrator,
    agent_token: PathBuf,
}

impl ProductUnderTest {
    /// Starts an orchestrator and adds the model as a provider.
    pub(super) fn start(model_url: &str) -> Result<Self> {
        let directory = tool::target_dir().join("tools/local-model/product");
        let orchestrator = TestOrchestrator::start_all(directory.clone())?;
        let provider = ["models", "add-provider", PROVIDER, "--kind", "openai"];
        let rest = ["--url", model_url, "--allow", "everyone"];
        orchestrator.run_cynork(&[provider.as_slice(), &rest].concat())?;
        let issued =
            orchestrator.run_cynork(&["agent-token", "issue", "local", "--agent", "pm"])?;
        let secret = issued["secret"].as_str().context("no secret was issued")?;
        let agent_token = directory.join("agent.token");
        fs::write(&agent_token, secret)?;
        Ok(Self { orchestrator, agent_token })
    }

    /// The chat endpoint.
    pub(super) fn chat_endpoint(&self) -> ModelEndpoint {
        self.endpoint("/v1", self.orchestrator.token_file())
    }

    /// The egress endpoint for agents.
    pub(super) fn egress_endpoint(&self) -> ModelEndpoint {
        self.endpoint("/v1/egress", self.agent_token.clone())
    }

    fn endpoint(&self, path: &str, token_file: PathBuf) -> ModelEndpoint {
        let url = format!("http://{}{path}", self.orchestrator.address());
        ModelEndpoint { url, token_file: Some(token_file), model: format!("{PROVIDER}/{MODEL}") }
    }

    /// Has a request in prose planned, run and verified; returns the result.
    pub(super) fn check_planned_task(&self) -> Result<String> {
        let created = ["task", "create", "--prompt", REQUEST, "--name", "sum", "--wait"];
        let done = self.orchestrator.run_cynork(&created);
        let decisions = self.orchestrator.run_cynork(&["brain", "decisions"])?;
        let done = done.with_context(|| format!("the decisions were {decisions}"))?;
        let rows = decisions["items"].as_array().context("there is no record of decisions")?;
        let is_plan = |row: &&Value| row["purpose"] == "plan" && row["decided_by"] == "model";
        if !rows.iter().any(|row| is_plan(&row)) {
            bail!("the model planned nothing: {decisions}");
        }
        let result = self.orchestrator.run_cynork(&["task", "result", "sum"])?;
        let said = format!("{done} {result}");
        if !said.contains(SUM) {
            bail!("the sum was not printed: {said}");
        }
        Ok(result.to_string())
    }

    /// Checks that at least `count` calls of the model are recorded; returns the sums.
    pub(super) fn check_recorded_calls(&self, count: usize) -> Result<String> {
        let calls = self.orchestrator.run_cynork(&["brain", "calls"])?;
        let rows = calls["calls"]["items"].as_array().context("there is no record of calls")?;
        let is_fine = |row: &&Value| row["outcome"] == "success" && row["model"] == MODEL;
        if rows.iter().filter(is_fine).count() < count {
            bail!("not all calls are on record: {calls}");
        }
        Ok(calls["totals"].to_string())
    }
}
