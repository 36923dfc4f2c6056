//! The product with the model as its provider.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::ModelEndpoint;
use super::server::MODEL;
use crate::orchestrator::TestOrchestrator;
use crate::tool;

/// A typical first request, and the number that its last command prints.
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
        check_result(&result)?;
        Ok(format!("{done} {result}"))
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

/// Fails unless the task is verified and the last number that its last step printed is the sum.
fn check_result(result: &Value) -> Result<()> {
    if result["status"] != "completed" || result["verification"] != "verified" {
        bail!("the result was not verified: {result}");
    }
    let jobs = result["jobs"].as_array().context("there are no jobs")?;
    let is_step = |job: &&Value| job["check"].is_null() && job["exec"].is_null();
    let last = jobs.iter().rfind(is_step).context("no step ran")?;
    let stdout = last["result"]["stdout"].as_str().unwrap_or_default();
    let mut numbers = stdout.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
    if numbers.next_back() != Some(SUM) {
        bail!("the sum was not printed, but {stdout:?}: {result}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn result(verification: &str, outputs: &[&str]) -> Value {
        let job = |stdout: &&str| json!({ "id": "55-55", "result": { "stdout": stdout } });
        let mut jobs: Vec<Value> = outputs.iter().map(job).collect();
        jobs.push(json!({ "check": 1, "result": { "stdout": "55" } }));
        json!({ "status": "completed", "verification": verification, "jobs": jobs, "took_ms": 55 })
    }

    #[test]
    fn a_planned_task_counts_only_if_it_is_verified_and_its_last_step_printed_the_sum() {
        for (is_fine, verification, outputs) in [
            (true, "verified", &["", "55\n"][..]),
            (true, "verified", &["1\n10\nThe sum is 55.\n"]),
            (false, "not_checked", &["55\n"]),
            (false, "unverified", &["55\n"]),
            (false, "verified", &["54\n"]),
            (false, "verified", &["155\n"]),
            (false, "verified", &["55\n", ""]),
            (false, "verified", &[]),
        ] {
            let checked = check_result(&result(verification, outputs));
            assert_eq!(checked.is_ok(), is_fine, "{verification} {outputs:?} {checked:?}");
        }
        let mut failed = result("verified", &["55\n"]);
        failed["status"] = "failed".into();
        assert!(check_result(&failed).is_err());
    }
}
