//! Flags for acceptance criteria and limits of a task.

use clap::Args;
use cynode_domain::criteria::Criterion;
use cynode_domain::job::Limits;
use cynode_domain::plan::StepCriterion;
use cynode_wire::tasks::CreateTask;

use super::{accept, span};
use cynode_cli::failure::CliFailure;

/// Acceptance criteria and limits.
#[derive(Debug, Args)]
pub(crate) struct TaskLimitArgs {
    /// Acceptance criterion: `exit:N`, `output:/regex/`, `file:path`, `check:command`, or prose; repeatable.
    #[arg(long, value_name = "CHECK", value_parser = accept::parse)]
    accept: Vec<Criterion>,
    /// Criterion for the Nth --command, checked before the next one starts: `1:CHECK`, with CHECK as for --accept;
    /// repeatable.
    #[arg(long, value_name = "N:CHECK", value_parser = accept::parse_for_step)]
    accept_step: Vec<StepCriterion>,
    /// A file that the last step must copy to the artifacts; repeatable.
    #[arg(long, value_name = "PATH")]
    expect: Vec<String>,
    /// Timeout of each step, such as 90s, 5m or 1h30m [default: 1h].
    #[arg(long, value_name = "TIME", value_parser = span::parse)]
    timeout: Option<u32>,
    /// Memory limit of each step, in MiB [default: 2048].
    #[arg(long, value_name = "MIB")]
    memory_mib: Option<u32>,
    /// Maximum processes and threads of each step [default: 256].
    #[arg(long, value_name = "N")]
    max_processes: Option<u32>,
    /// Disk limit of workspace and artifacts, in MiB [default: 2048].
    #[arg(long, value_name = "MIB")]
    disk_mib: Option<u32>,
    /// Bytes kept of stdout and of stderr; a step that writes 64 times as much is stopped [default: 262144].
    #[arg(long, value_name = "BYTES")]
    output_bytes: Option<u32>,
    /// Maximum attempts of a failing step, 1 to 10 [default: from preferences, otherwise 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10))]
    max_attempts: Option<u32>,
    /// Retry a step after an interruption, up to 3 attempts, or --max-attempts if that is more. Only for work that
    /// is safe to repeat.
    #[arg(long)]
    retry_interrupted: bool,
    #[command(flatten)]
    people: ApprovalArgs,
}

/// Flags for steps that need a person.
#[derive(Debug, Args)]
struct ApprovalArgs {
    /// Show the plan and wait for `cynork run answer --yes` before anything runs.
    #[arg(long)]
    approve_plan: bool,
    /// How long a question waits for an answer, such as 30m or 8h; then the task fails [default: forever].
    #[arg(long, value_name = "TIME", value_parser = span::parse)]
    answer_within: Option<u32>,
}

impl TaskLimitArgs {
    /// Whether any flag is given.
    pub(crate) fn is_given(&self) -> bool {
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

    /// Writes the criteria and limits to a request.
    pub(crate) fn apply(self, task: &mut CreateTask) -> Result<(), CliFailure> {
        task.limits = resolve_limits(&self)?;
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

/// Validates the limits; errors name the flags instead of the fields.
fn resolve_limits(bounds: &TaskLimitArgs) -> Result<Limits, CliFailure> {
    let default = Limits::default();
    let limits = Limits {
        timeout_s: bounds.timeout.unwrap_or(default.timeout_s),
        memory_mib: bounds.memory_mib.unwrap_or(default.memory_mib),
        processes: bounds.max_processes.unwrap_or(default.processes),
        output_bytes: bounds.output_bytes.unwrap_or(default.output_bytes),
        disk_mib: bounds.disk_mib.unwrap_or(default.disk_mib),
    };
    match limits.validation_errors() {
        problems if problems.is_empty() => Ok(limits),
        problems => Err(CliFailure::Invalid(rename_fields_to_flags(&problems.join("; ")))),
    }
}

fn rename_fields_to_flags(problems: &str) -> String {
    let flags = [
        ("limits.timeout_s", "--timeout, in seconds,"),
        ("limits.memory_mib", "--memory-mib"),
        ("limits.processes", "--max-processes"),
        ("limits.output_bytes", "--output-bytes"),
        ("limits.disk_mib", "--disk-mib"),
    ];
    flags.iter().fold(problems.to_owned(), |text, (field, flag)| text.replace(field, flag))
}
