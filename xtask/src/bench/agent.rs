//! `cargo xtask bench agent`: agents carry out the same small repairs with the same model, one after the other in one run.
//!
//! Each attempt is a task on a repository of its own, through the whole product. It counts as solved if a test that the agent
//! never sees passes in a sandbox with its changes. `--reference` has a command apply the known correction in place of an
//! agent, and also grades the unchanged program: this proves the grading, and needs no model.

mod attempt;
pub(crate) mod repair;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, ensure};
use clap::{Args, ValueEnum};

use self::attempt::AttemptOutcome;
pub(crate) use self::attempt::RepairWorkshop;
use self::repair::Repair;
use crate::local_model::server::{MODEL, ModelServer};
use crate::{third_party_agents, tool};

/// The built-in agent, as tasks name it.
const BUILT_IN: &str = "sba";
/// The profile of the other one.
const MINI: &str = "mini";

/// The agents that can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MeasuredAgent {
    CynodeSba,
    MiniSweAgent,
}

impl MeasuredAgent {
    const fn name(self) -> &'static str {
        match self {
            Self::CynodeSba => "cynode-sba",
            Self::MiniSweAgent => "mini-swe-agent",
        }
    }

    /// Its name in tasks.
    const fn profile(self) -> &'static str {
        match self {
            Self::CynodeSba => BUILT_IN,
            Self::MiniSweAgent => MINI,
        }
    }
}

/// Options of the benchmark.
#[derive(Debug, Args)]
pub struct AgentBenchArgs {
    /// Only these repairs.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub tasks: Vec<String>,
    /// Only these agents.
    #[arg(long, value_name = "AGENT", value_delimiter = ',',
        default_values_t = [MeasuredAgent::CynodeSba, MeasuredAgent::MiniSweAgent], value_enum)]
    pub agents: Vec<MeasuredAgent>,
    /// The longest time for one repair.
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=240))]
    pub minutes_per_task: u32,
    /// Apply the known corrections instead of starting agents.
    #[arg(long)]
    pub reference: bool,
    /// Use the model at this address of OpenAI's API instead of starting one.
    #[arg(long, value_name = "URL", requires = "model", conflicts_with = "reference")]
    pub provider: Option<String>,
    /// The name of that model.
    #[arg(long, value_name = "NAME", requires = "provider")]
    pub model: Option<String>,
}

/// The results of one agent, by repair.
pub(crate) struct AgentScore {
    pub(crate) agent: &'static str,
    pub(crate) outcomes: Vec<(&'static Repair, AttemptOutcome)>,
}

impl AgentScore {
    pub(crate) fn solved(&self) -> usize {
        self.outcomes.iter().filter(|(_, outcome)| outcome.is_solved).count()
    }

    fn tokens(&self) -> u64 {
        self.outcomes.iter().map(|(_, outcome)| outcome.tokens).sum()
    }

    fn time(&self) -> Duration {
        self.outcomes.iter().map(|(_, outcome)| outcome.time).sum()
    }
}

/// Runs the benchmark with the existing or a new build; returns whether it could measure.
pub fn run(out: &mut dyn Write, args: &AgentBenchArgs) -> Result<bool> {
    let mut build = tool::cargo_command(&["build", "--bins"]);
    tool::run_or_fail(build.args(tool::binary_package_args()))?;
    let directory = tool::target_dir().join("tools/bench-agent");
    if args.reference {
        return check_references(out, &directory, &args.tasks);
    }
    let mut started = None;
    let (url, model) = if let Some(given) = args.provider.clone().zip(args.model.clone()) {
        given
    } else {
        let server = started.insert(ModelServer::start(out)?);
        (server.url(), MODEL.to_owned())
    };
    let has_mini = args.agents.contains(&MeasuredAgent::MiniSweAgent);
    let mini = has_mini.then(third_party_agents::install_mini_swe_agent).transpose()?;
    let limit = Duration::from_mins(args.minutes_per_task.into());
    let mut workshop = RepairWorkshop::start(&directory, mini.as_deref())?;
    workshop.add_provider(&url, &model)?;
    measure(out, &mut workshop, &args.agents, &args.tasks, limit)?;
    // The model is served until here.
    drop(started);
    Ok(true)
}

/// Has each agent carry out each repair, and prints the results.
pub(crate) fn measure(
    out: &mut dyn Write,
    workshop: &mut RepairWorkshop,
    agents: &[MeasuredAgent],
    tasks: &[String],
    limit: Duration,
) -> Result<Vec<AgentScore>> {
    let repairs = repair::select(tasks)?;
    let mut scores = vec![];
    for agent in agents {
        let mut score = AgentScore { agent: agent.name(), outcomes: vec![] };
        for repair in &repairs {
            let outcome = workshop.attempt(repair, agent.profile(), limit)?;
            writeln!(out, "{}", describe(agent.name(), repair, &outcome))?;
            out.flush()?;
            score.outcomes.push((repair, outcome));
        }
        scores.push(score);
    }
    writeln!(out, "\n{:<16} {:>7} {:>10} {:>9}", "agent", "solved", "tokens", "minutes")?;
    for score in &scores {
        let solved = format!("{}/{}", score.solved(), score.outcomes.len());
        let minutes = score.time().as_secs_f64() / 60.0;
        writeln!(out, "{:<16} {solved:>7} {:>10} {minutes:>9.1}", score.agent, score.tokens())?;
    }
    Ok(scores)
}

fn describe(agent: &str, repair: &Repair, outcome: &AttemptOutcome) -> String {
    let word = if outcome.is_solved { "solved" } else { "open" };
    format!(
        "{agent:<16} {:<16} {word:<6} {:>7} tokens {:>6.1} s  {}",
        repair.name,
        outcome.tokens,
        outcome.time.as_secs_f64(),
        outcome.remark
    )
}

/// Grades each known correction and each unchanged program; returns whether every grade is right.
pub(crate) fn check_references(
    out: &mut dyn Write,
    directory: &Path,
    tasks: &[String],
) -> Result<bool> {
    let mut workshop = RepairWorkshop::start(directory, None)?;
    let mut is_right = true;
    for repair in repair::select(tasks)? {
        let (accepted, rejected) = workshop.grade_reference(repair)?;
        let word = if accepted && rejected { "pass" } else { "FAIL" };
        writeln!(
            out,
            "{:<16} {word}: the correction is {}, the fault is {}",
            repair.name,
            if accepted { "accepted" } else { "rejected" },
            if rejected { "rejected" } else { "accepted" },
        )?;
        out.flush()?;
        is_right &= accepted && rejected;
    }
    Ok(is_right)
}

/// Has requests in words go from a sentence to a branch, unattended; returns how many delivered a correct one.
pub(crate) fn measure_requests(
    out: &mut dyn Write,
    workshop: &mut RepairWorkshop,
    count: usize,
    limit: Duration,
) -> Result<usize> {
    ensure!(count > 0, "the number of requests is at least one");
    let mut delivered = 0;
    for (number, repair) in (1..=count).zip(repair::all().into_iter().cycle()) {
        let outcome = workshop.submit_request(repair, number, limit)?;
        writeln!(out, "{}", describe(&format!("request {number}"), repair, &outcome))?;
        out.flush()?;
        delivered += usize::from(outcome.is_solved);
    }
    writeln!(
        out,
        "\n{delivered} of {count} requests delivered a branch that passes the hidden test"
    )?;
    Ok(delivered)
}

/// The directory of a run of requests.
pub(crate) fn requests_directory() -> PathBuf {
    tool::target_dir().join("tools/bench-requests")
}

#[cfg(test)]
mod tests {
    use cynode_testkit::provider::{Answer, ScriptedProvider};
    use serde_json::json;

    use super::*;

    const LIMIT: Duration = Duration::from_mins(1);

    /// A provider whose model repairs `median`, where a prompt contains this text too, and answers nothing else.
    fn repairing_provider(marker: &str) -> ScriptedProvider {
        let provider = ScriptedProvider::start();
        let repair = repair::select(&["median".to_owned()]).unwrap()[0];
        // The output is in no command, so that it shows that the command ran.
        let command = format!("{}\necho repaired $((40 + 2))", repair.reference_command());
        let finish = json!({ "summary": "repaired", "evidence": [] });
        let finish = Answer::tool_call("finish", finish);
        provider.when_each(&[marker, repair.prompt, "repaired 42"], finish);
        let run = Answer::tool_call("run_command", json!({ "command": command }));
        provider.when_each(&[marker, repair.prompt], run);
        provider.otherwise(Answer::status(400, "not today"));
        provider
    }

    #[test]
    fn grading_accepts_the_reference_and_rejects_the_fault() {
        let home = tempfile::tempdir().unwrap();
        let mut printed = Vec::new();
        // One of each language: the others are graded without the product in the tests of the repairs.
        let tasks = ["median", "last-page", "sum-lines"].map(str::to_owned);

        let is_right = check_references(&mut printed, home.path(), &tasks).unwrap();

        let printed = String::from_utf8(printed).unwrap();
        assert!(is_right, "{printed}");
        let line = "pass: the correction is accepted, the fault is rejected";
        assert_eq!(printed.matches(line).count(), 3, "{printed}");
    }

    #[test]
    fn an_agent_is_measured_by_what_it_changed() {
        let (home, provider) = (tempfile::tempdir().unwrap(), repairing_provider(""));
        let mut workshop = RepairWorkshop::start(home.path(), None).unwrap();
        workshop.add_provider(&provider.openai_url(), "scripted-model").unwrap();
        let mut printed = Vec::new();
        // The model answers nothing about the second one.
        let tasks = ["median", "leap-year"].map(str::to_owned);

        let agents = [MeasuredAgent::CynodeSba];
        let scores = measure(&mut printed, &mut workshop, &agents, &tasks, LIMIT).unwrap();

        let printed = String::from_utf8(printed).unwrap();
        let solved: Vec<bool> = scores[0].outcomes.iter().map(|(_, it)| it.is_solved).collect();
        assert_eq!(solved, [true, false], "{printed}");
        assert!(scores[0].outcomes[0].1.tokens > 0, "{printed}");
        assert!(printed.contains("cynode-sba           1/2"), "{printed}");
    }

    #[test]
    fn requests_are_counted_by_the_branches_that_pass_the_hidden_test() {
        let (home, provider) = (tempfile::tempdir().unwrap(), repairing_provider("# Implement"));
        let respond = |answer| Answer::tool_call("respond", answer);
        let kind = json!({ "kind": "quick_fix", "reason": "a fault" });
        provider.when("What kind of work is this request", respond(kind));
        let scope = json!({
            "scope": "trivial", "estimated_files": 1, "components_affected": ["it"], "reasoning": "one file",
        });
        provider.when("Assess this work's scope", respond(scope));
        let mut workshop = RepairWorkshop::start(home.path(), None).unwrap();
        workshop.add_provider(&provider.openai_url(), "scripted-model").unwrap();
        let mut printed = Vec::new();

        let delivered = measure_requests(&mut printed, &mut workshop, 2, LIMIT).unwrap();

        let printed = String::from_utf8(printed).unwrap();
        assert_eq!(delivered, 1, "{printed}");
        assert!(printed.contains("1 of 2 requests delivered a branch"), "{printed}");
    }
}
