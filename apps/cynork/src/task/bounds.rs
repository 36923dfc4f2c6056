//! What bounds a task that is typed: what must be true of its result, and what it may cost.

use clap::Args;
use cynode_domain::criteria::Criterion;
use cynode_domain::job::Limits;
use cynode_domain::plan::StepCriterion;
use cynode_wire::tasks::CreateTask;

use super::{accept, span};
use crate::failure::Failure;

/// What must be true of the result, and what it may cost.
#[derive(Debug, Args)]
pub(crate) struct Bounds {
    /// What must be true: `exit:N`, `output:/regex/`, `file:path`, `check:command`, or prose; may be given again.
    #[arg(long, value_name = "CHECK", value_parser = accept::parse)]
    accept: Vec<Criterion>,
    /// What must be true of the result of the Nth --command before the next one starts: `1:CHECK`, with a
    /// check as for --accept; may be given again.
    #[arg(long, value_name = "N:CHECK", value_parser = accept::parse_for_step)]
    accept_step: Vec<StepCriterion>,
    /// A file the last step must leave among the artifacts; may be given again.
    #[arg(long, value_name = "PATH")]
    expect: Vec<String>,
    /// How long each step may run, such as 90s, 5m or 1h30m [default: 1h].
    #[arg(long, value_name = "TIME", value_parser = span::parse)]
    timeout: Option<u32>,
    /// Memory of each step, in MiB [default: 2048].
    #[arg(long, value_name = "MIB")]
    memory_mib: Option<u32>,
    /// Processes and threads of each step alive at once [default: 256].
    #[arg(long, value_name = "N")]
    max_processes: Option<u32>,
    /// Disk that the workspace and artifacts may fill, in MiB [default: 2048].
    #[arg(long, value_name = "MIB")]
    disk_mib: Option<u32>,
    /// Bytes kept of each of stdout and stderr; 64 times that ends a step [default: 262144].
    #[arg(long, value_name = "BYTES")]
    output_bytes: Option<u32>,
    /// How often a failing step may run in all, 1 to 10 [default: as preferences say, or once].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10))]
    max_attempts: Option<u32>,
    /// Run a step again after it was interrupted, up to 3 times in all or as --max-attempts says if that
    /// is more: only for work that is safe to repeat.
    #[arg(long)]
    retry_interrupted: bool,
    #[command(flatten)]
    people: People,
}

/// What a person has to say to it.
#[derive(Debug, Args)]
struct People {
    /// Show the plan and wait for `cynork run answer --yes` before anything runs.
    #[arg(long)]
    approve_plan: bool,
    /// How long a question waits for an answer, such as 30m or 8h; then the task fails [default: for
    /// ever].
    #[arg(long, value_name = "TIME", value_parser = span::parse)]
    answer_within: Option<u32>,
}

impl Bounds {
    /// Whether something is bounded.
    pub(crate) fn is_any(&self) -> bool {
        let numbers = [
            self.timeout,
            self.memory_mib,
            self.max_processes,
            self.disk_mib,
            self.output_bytes,
            self.max_attempts,
            self.people.answer_within,
        ];
        numbers.iter().any(Option::is_some)
            || !self.accept.is_empty()
            || !self.accept_step.is_empty()
            || !self.expect.is_empty()
            || self.retry_interrupted
            || self.people.approve_plan
    }

    /// Bounds a task.
    pub(crate) fn apply(self, task: &mut CreateTask) -> Result<(), Failure> {
        task.limits = limits(&self)?;
        task.acceptance_criteria = self.accept;
        task.step_criteria = self.accept_step;
        task.expected_outputs = self.expect;
        task.retry_interrupted = self.retry_interrupted;
        task.max_attempts = self.max_attempts;
        task.approve_plan = self.people.approve_plan;
        task.answer_within_s = self.people.answer_within;
        Ok(())
    }
}

/// The limits that are asked for; what is out of range is told by the flags that say it.
fn limits(bounds: &Bounds) -> Result<Limits, Failure> {
    let default = Limits::default();
    let limits = Limits {
        timeout_s: bounds.timeout.unwrap_or(default.timeout_s),
        memory_mib: bounds.memory_mib.unwrap_or(default.memory_mib),
        processes: bounds.max_processes.unwrap_or(default.processes),
        output_bytes: bounds.output_bytes.unwrap_or(default.output_bytes),
        disk_mib: bounds.disk_mib.unwrap_or(default.disk_mib),
    };
    match limits.problems() {
        problems if problems.is_empty() => Ok(limits),
        problems => Err(Failure::Invalid(by_flags(&problems.join("; ")))),
    }
}

fn by_flags(problems: &str) -> String {
    let flags = [
        ("limits.timeout_s", "--timeout, in seconds,"),
        ("limits.memory_mib", "--memory-mib"),
        ("limits.processes", "--max-processes"),
        ("limits.output_bytes", "--output-bytes"),
        ("limits.disk_mib", "--disk-mib"),
    ];
    flags.iter().fold(problems.to_owned(), |said, (field, flag)| said.replace(field, flag))
}
