//! One repair through the product: the agent's task, and the task that grades its changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::MINI;
use super::repair::Repair;
use crate::orchestrator::TestOrchestrator;

/// What one attempt came to.
#[derive(Debug, Clone, Default)]
pub(crate) struct AttemptOutcome {
    pub(crate) is_solved: bool,
    /// Of all model calls of the attempt, read and written.
    pub(crate) tokens: u64,
    pub(crate) time: Duration,
    /// How the agent's task ended, in words.
    pub(super) remark: String,
}

/// The product, with a directory of repositories.
pub(crate) struct RepairWorkshop {
    orchestrator: TestOrchestrator,
    repositories: PathBuf,
    attempts: u32,
}

impl RepairWorkshop {
    /// Starts the product on an empty directory; `mini` is the directory of an installed `mini-swe-agent`.
    pub(crate) fn start(directory: &Path, mini: Option<&Path>) -> Result<Self> {
        fs::create_dir_all(directory)?;
        let directory = directory.canonicalize()?;
        let repositories = directory.join("repositories");
        if repositories.exists() {
            fs::remove_dir_all(&repositories)?;
        }
        fs::create_dir_all(&repositories)?;
        let exposed = mini.map(python_directories).transpose()?.unwrap_or_default();
        let allowed = [&repositories];
        let config = format!("[node]\nrepository_paths = {allowed:?}\nexpose = {exposed:?}\n");
        let orchestrator = TestOrchestrator::start_all_with(directory.join("data"), &config)?;
        let workshop = Self { orchestrator, repositories, attempts: 0 };
        if let Some(mini) = mini {
            workshop.admit_mini_swe_agent(mini)?;
        }
        Ok(workshop)
    }

    /// Adds the model as the only provider.
    pub(crate) fn add_provider(&self, url: &str, model: &str) -> Result<()> {
        let add = ["models", "add-provider", "bench", "--kind", "openai", "--url", url];
        let rest = ["--allow", "everyone", "--model", model];
        self.orchestrator.run_cynork(&[add.as_slice(), &rest].concat())?;
        Ok(())
    }

    fn admit_mini_swe_agent(&self, home: &Path) -> Result<()> {
        let command = format!(
            "{} --model openai/strong --task {{prompt}} --yolo --exit-immediately --cost-limit 0 --output /tmp/trajectory.json",
            home.join("bin/mini").display()
        );
        let add = ["agent", "profiles", "add", MINI, "--command", &command];
        let env = [
            "--env",
            "MSWEA_CONFIGURED=true",
            "--env",
            "MSWEA_COST_TRACKING=ignore_errors",
            "--env",
            "LITELLM_LOCAL_MODEL_COST_MAP=True",
        ];
        self.orchestrator.run_cynork(&[add.as_slice(), &env].concat())?;
        self.orchestrator.run_cynork(&["agent", "canary", MINI])?;
        Ok(())
    }

    /// A repository with the fault, and a name for what is done to it.
    fn prepare(&mut self, repair: &Repair) -> Result<(String, String)> {
        self.attempts += 1;
        let name = format!("{}-{}", repair.name, self.attempts);
        let repository = self.repositories.join(&name);
        repair.create_repository(&repository)?;
        let url = repository.to_str().context("the path is not text")?.to_owned();
        Ok((name, url))
    }

    /// Has an agent carry out a repair, and grades it.
    pub(super) fn attempt(
        &mut self,
        repair: &Repair,
        agent: &str,
        limit: Duration,
    ) -> Result<AttemptOutcome> {
        let (name, url) = self.prepare(repair)?;
        let seconds = format!("{}s", limit.as_secs());
        let begun = Instant::now();
        let create = ["task", "create", "--repo", &url, "--name", &name, "--agent", agent];
        let rest = ["--timeout", &seconds, "--max-attempts", "1", "--prompt", repair.prompt];
        let ended = self.run_to_end(&[create.as_slice(), &rest, &["--wait"]].concat(), &name)?;
        let time = begun.elapsed();
        let is_solved = self.grade(repair, &url, Some(&name))?;
        let tokens = self.count_tokens(&["--task", &name])?;
        Ok(AttemptOutcome { is_solved, tokens, time, remark: describe_end(&ended) })
    }

    /// Grades the known correction, and the unchanged program; returns whether the first was accepted and the second
    /// rejected.
    pub(super) fn grade_reference(&mut self, repair: &Repair) -> Result<(bool, bool)> {
        let (name, url) = self.prepare(repair)?;
        let command = repair.reference_command();
        let create = ["task", "create", "--repo", &url, "--name", &name, "--command", &command];
        self.run_to_end(&[create.as_slice(), &["--wait"]].concat(), &name)?;
        let is_accepted = self.grade(repair, &url, Some(&name))?;
        let is_fault_accepted = self.grade(repair, &url, None)?;
        Ok((is_accepted, !is_fault_accepted))
    }

    /// Submits the sentence of a repair as a request, and grades the branch that it delivers.
    pub(super) fn submit_request(
        &mut self,
        repair: &Repair,
        number: usize,
        limit: Duration,
    ) -> Result<AttemptOutcome> {
        let (name, url) = self.prepare(repair)?;
        let before = self.count_tokens(&[])?;
        let begun = Instant::now();
        let submit = ["pm", "submit", repair.prompt, "--repo", &url, "--name", &name];
        self.orchestrator.run_cynork(&submit)?;
        let view = self.wait_for_request(&name, begun + limit)?;
        let time = begun.elapsed();
        let branch = view["delivery"]["branch"].as_str().unwrap_or_default();
        let is_pushed = view["delivery"]["is_pushed"] == true;
        let is_solved =
            is_pushed && self.grade_branch(repair, &url, &format!("{name}-{number}"), branch)?;
        let tokens = self.count_tokens(&[])?.saturating_sub(before);
        let remark = match view["question"]["question"]["text"].as_str() {
            Some(question) => format!("waits for a person: {question}"),
            None => describe_end(&view),
        };
        Ok(AttemptOutcome { is_solved, tokens, time, remark })
    }

    /// Waits until a request has ended or asks a person, and cancels it at the deadline.
    fn wait_for_request(&self, name: &str, deadline: Instant) -> Result<Value> {
        loop {
            let view = self.orchestrator.run_cynork(&["pm", "show", name])?;
            if !view["ended_at"].is_null() {
                return Ok(view);
            }
            if !view["question"].is_null() || Instant::now() > deadline {
                self.orchestrator.run_cynork(&["pm", "cancel", name])?;
                return Ok(view);
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Runs a command of `cynork` that waits for a task; returns the task, also if it failed.
    fn run_to_end(&self, args: &[&str], name: &str) -> Result<Value> {
        // It ends with an error if the task failed, which is a result here.
        let ended = self.orchestrator.run_cynork(args);
        let task = self.orchestrator.run_cynork(&["task", "get", name]);
        task.map_err(|error| ended.err().unwrap_or(error))
    }

    /// Whether the hidden test passes with the changes of a task; without one, on the unchanged program.
    fn grade(&mut self, repair: &Repair, url: &str, source: Option<&str>) -> Result<bool> {
        let name = format!("grade-{}-{}", source.unwrap_or("fault"), self.attempts);
        let on = source.map(|source| vec!["--on", source]).unwrap_or_default();
        self.run_test(repair, url, &name, &on)
    }

    fn grade_branch(&self, repair: &Repair, url: &str, name: &str, branch: &str) -> Result<bool> {
        self.run_test(repair, url, &format!("grade-{name}"), &["--base", branch])
    }

    fn run_test(&self, repair: &Repair, url: &str, name: &str, from: &[&str]) -> Result<bool> {
        let tests = self.repositories.join("hidden");
        fs::create_dir_all(&tests)?;
        let (file, text) = repair.test;
        let path = tests.join(file);
        fs::write(&path, text)?;
        let path = path.to_str().context("the path is not text")?;
        let command = repair.test_command();
        let create = ["task", "create", "--repo", url, "--name", name, "--attach", path];
        let rest = ["--max-attempts", "1", "--command", &command, "--wait"];
        let arguments = [create.as_slice(), from, &rest].concat();
        // A task without changes cannot be built on: nothing was repaired.
        let Ok(task) = self.run_to_end(&arguments, name) else { return Ok(false) };
        Ok(task["status"] == "completed")
    }

    /// Tokens of the calls that these arguments select.
    fn count_tokens(&self, selection: &[&str]) -> Result<u64> {
        let calls = [&["brain", "calls"], selection].concat();
        let calls = self.orchestrator.run_cynork(&calls)?;
        let of = |key: &str| calls["totals"][key].as_u64().context("there are no totals");
        Ok(of("input_tokens")? + of("output_tokens")?)
    }
}

/// The status of a task or request, and the first line of its summary.
fn describe_end(view: &Value) -> String {
    let status = view["status"].as_str().unwrap_or("unknown");
    let summary = view["summary"].as_str().and_then(|text| text.lines().next()).unwrap_or_default();
    let short: String = summary.chars().take(80).collect();
    format!("{status}: {short}")
}

/// The virtual environment of an agent in Python, and the Python that it was made from unless that belongs to the system.
fn python_directories(home: &Path) -> Result<Vec<PathBuf>> {
    let home = home.canonicalize()?;
    let python = home.join("bin/python").canonicalize()?;
    let lender = python.parent().and_then(Path::parent).map(Path::to_owned);
    let own = lender.filter(|lender| !lender.starts_with("/usr"));
    Ok([Some(home), own].into_iter().flatten().collect())
}
