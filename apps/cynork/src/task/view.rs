//! Renders tasks, results and histories for people.

use chrono::TimeDelta;
use cynode_domain::status::ShownTaskStatus;
use cynode_wire::jobs::JobView;
use cynode_wire::tasks::{ResultView, TaskView, TransitionView};

use super::checks;
use cynode_cli::out::RenderContext;
use cynode_cli::{relative_time, table};

pub(crate) fn render_tasks(tasks: &[TaskView], ctx: RenderContext) -> String {
    let rows = tasks.iter().map(|task| {
        vec![
            task.task_name.clone(),
            checks::format_status(task.status.as_str(), task.verification),
            relative_time::format_relative(ctx.now, task.created_at),
            format_time_taken(task, ctx),
            table::truncate(&summary_or_blocked(task), 60),
        ]
    });
    table::render_table(&["TASK", "STATUS", "CREATED", "TOOK", "SUMMARY"], rows, ctx)
}

pub(crate) fn task(task: &TaskView, ctx: RenderContext) -> String {
    let waits_for: Vec<String> = task.depends_on.iter().map(ToString::to_string).collect();
    let repository = task.repository.as_ref();
    let base = repository.and_then(|repository| repository.base_branch.as_ref());
    let branch = repository.and_then(|repository| repository.branch.as_ref());
    let builds_on: Vec<String> =
        task.builds_on.iter().map(|source| source.branch.to_string()).collect();
    let pairs = [
        ("task", Some(task.task_name.clone())),
        ("status", Some(checks::format_status(task.status.as_str(), task.verification))),
        ("summary", Some(summary_or_blocked(task))),
        ("next", next_command(task)),
        ("checked", checks::format_verification(task.verification)),
        ("prompt", Some(table::truncate(&task.prompt, 200))),
        ("commands", Some(format_commands(task))),
        ("waits for", Some(waits_for.join("\n"))),
        ("repository", repository.map(|repository| repository.url.to_string())),
        ("base branch", base.map(ToString::to_string)),
        ("branch", branch.map(ToString::to_string)),
        ("builds on", Some(builds_on.join("\n"))),
        ("agent", task.agent.clone()),
        ("node", task.node.clone()),
        ("image", task.image.clone()),
        ("created", Some(relative_time::format_relative(ctx.now, task.created_at))),
        ("took", Some(format_time_taken(task, ctx))),
        ("id", Some(task.id.to_string())),
    ];
    table::render_pairs(&pairs, ctx)
}

/// The executed commands with their checks; before that, the requested commands.
fn format_commands(task: &TaskView) -> String {
    if task.steps.is_empty() {
        return task.commands.join("\n");
    }
    checks::render_checks(&task.steps).join("\n")
}

/// The summary of a task, or why it is blocked.
fn summary_or_blocked(task: &TaskView) -> String {
    let is_waiting = task.status == ShownTaskStatus::Waiting;
    let blocked = task.blocked_reason.as_ref().map(|reason| match task.started_at {
        Some(_) if is_waiting => reason.clone(),
        Some(_) => format!("blocked: {reason}"),
        None => format!("will not start: {reason}"),
    });
    task.summary.clone().or(blocked).unwrap_or_default()
}

/// The next command, if the task waits for an answer.
fn next_command(task: &TaskView) -> Option<String> {
    let name = &task.task_name;
    (task.status == ShownTaskStatus::Waiting).then(|| {
        format!("see `cynork run show {name}`, then answer with `cynork run answer {name}`")
    })
}

/// A result: its status, then one line per job.
pub(crate) fn render_result(result: &ResultView, ctx: RenderContext) -> String {
    let pairs = [
        ("status", Some(checks::format_status(result.status.as_str(), result.verification))),
        ("summary", result.summary.clone()),
        ("checked", checks::format_verification(result.verification)),
        ("commands", Some(checks::render_checks(&result.steps).join("\n"))),
    ];
    let head = table::render_pairs(&pairs, ctx);
    if result.jobs.is_empty() {
        return head;
    }
    let rows = result.jobs.iter().map(job_row);
    let header = ["STEP", "ATTEMPT", "STATUS", "ENDING", "TOOK", "OUTPUT"];
    format!("{head}\n\n{}", table::render_table(&header, rows, ctx))
}

/// Transitions, one per line.
pub(crate) fn history(rows: &[TransitionView], ctx: RenderContext) -> String {
    let rows = rows.iter().map(|row| {
        vec![
            row.sequence.to_string(),
            row.node.clone(),
            row.edge.clone(),
            row.step_index.map(|index| (index + 1).to_string()).unwrap_or_default(),
            relative_time::format_duration(TimeDelta::milliseconds(row.duration_ms)),
            relative_time::format_relative(ctx.now, row.recorded_at),
        ]
    });
    table::render_table(&["#", "NODE", "EDGE", "STEP", "TOOK", "WHEN"], rows, ctx)
}

fn job_row(job: &JobView) -> Vec<String> {
    let (ending, output) = match &job.result {
        Some(result) => (result.ending.describe(), last_line(&result.stdout)),
        None => (String::new(), String::new()),
    };
    let took = job
        .started_at
        .zip(job.ended_at)
        .map(|(start, end)| relative_time::format_duration(end - start));
    vec![
        job.exec.map_or_else(|| (job.step_index + 1).to_string(), |_| "-".to_owned()),
        format_attempt(job),
        job.status.to_string(),
        table::truncate(&ending, 60),
        took.unwrap_or_default(),
        output,
    ]
}

/// The attempt and its check number; or the number of the command in the workspace.
fn format_attempt(job: &JobView) -> String {
    if let Some(number) = job.exec {
        return format!("exec {number}");
    }
    match job.check {
        Some(number) => format!("{}, check {number}", job.attempt),
        None => job.attempt.to_string(),
    }
}

fn last_line(text: &str) -> String {
    table::truncate(text.trim_end().lines().last().unwrap_or_default(), 40)
}

fn format_time_taken(task: &TaskView, ctx: RenderContext) -> String {
    match (task.started_at, task.ended_at) {
        (Some(start), Some(end)) => relative_time::format_duration(end - start),
        (Some(start), None) => {
            format!("{} so far", relative_time::format_duration(ctx.now - start))
        }
        (None, _) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};
    use cynode_domain::ids::{JobId, ProjectId, TaskId};
    use cynode_domain::job::JobEnding;
    use cynode_domain::plan::InputMode;
    use cynode_domain::status::JobStatus;
    use cynode_domain::verification::VerificationStatus;
    use cynode_wire::jobs::{JobResult, Truncated};

    use super::*;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds)
    }

    fn render_context() -> RenderContext {
        RenderContext { now: at(100), width: None }
    }

    fn id() -> TaskId {
        TaskId::from(uuid::Uuid::from_u128(1))
    }

    fn view(name: &str, status: ShownTaskStatus) -> TaskView {
        TaskView {
            id: id(),
            task_name: name.to_owned(),
            status,
            closed: true,
            project_id: ProjectId::from(uuid::Uuid::from_u128(2)),
            profile_id: None,
            run_id: None,
            input_mode: InputMode::Commands,
            prompt: String::new(),
            commands: vec!["make".to_owned(), "make test".to_owned()],
            acceptance_criteria: vec![],
            step_criteria: vec![],
            depends_on: vec![],
            blocked_reason: None,
            repository: None,
            builds_on: vec![],
            parent_task_id: None,
            work_unit_id: None,
            node: None,
            image: None,
            agent: None,
            summary: Some("2 commands exited with code 0".to_owned()),
            verification: Some(VerificationStatus::NotChecked),
            steps: vec![],
            created_at: at(40),
            updated_at: at(60),
            started_at: Some(at(41)),
            ended_at: Some(at(60)),
        }
    }

    #[test]
    fn a_task_is_shown_with_its_repository_and_branches() {
        let repository = serde_json::json!({
            "url": "https://example.com/app", "base_branch": "main", "branch": "cynode/build",
        });
        let task_view = TaskView {
            repository: serde_json::from_value(repository).unwrap(),
            ..view("build", ShownTaskStatus::Completed)
        };

        let shown = task(&task_view, render_context());

        for (name, value) in [
            ("repository", "https://example.com/app"),
            ("base branch", "main"),
            ("branch", "cynode/build"),
        ] {
            let line = shown.lines().find(|line| line.trim_start().starts_with(name)).unwrap();
            assert!(line.trim_end().ends_with(value), "{shown}");
        }
    }

    #[test]
    fn tasks_are_listed_with_age_and_duration() {
        let views =
            [view("build", ShownTaskStatus::Completed), view("deploy-2", ShownTaskStatus::Failed)];
        let unverified = Some(VerificationStatus::Unverified);
        let views = views.map(|task| match task.task_name.as_str() {
            "build" => TaskView { verification: unverified, ..task },
            _ => TaskView { verification: None, ..task },
        });

        insta::assert_snapshot!(render_tasks(&views, render_context()));
    }

    #[test]
    fn one_task_is_shown_with_its_commands() {
        insta::assert_snapshot!(task(&view("build", ShownTaskStatus::Completed), render_context()));
    }

    #[test]
    fn a_task_that_waits_for_a_person_says_so_and_how_to_answer() {
        let waiting = TaskView {
            closed: false,
            summary: None,
            verification: None,
            blocked_reason: Some("waiting for your answer: Which files?".to_owned()),
            ended_at: None,
            ..view("nicer", ShownTaskStatus::Waiting)
        };

        insta::assert_snapshot!(format!(
            "{}\n\n{}",
            render_tasks(std::slice::from_ref(&waiting), render_context()),
            task(&waiting, render_context())
        ));
    }

    #[test]
    fn a_result_shows_every_job_with_its_ending() {
        let job = JobView {
            id: JobId::from(uuid::Uuid::from_u128(3)),
            task_id: id(),
            step_index: 0,
            attempt: 1,
            check: None,
            exec: None,
            status: JobStatus::Completed,
            node_id: None,
            result: Some(JobResult {
                ending: JobEnding::Exited { code: 0 },
                stdout: "building\nall tests passed\n".to_owned(),
                stderr: String::new(),
                truncated: Truncated::default(),
            }),
            created_at: at(41),
            started_at: Some(at(41)),
            ended_at: Some(at(44)),
        };
        let check = JobView { check: Some(1), ..job.clone() };
        let exec = JobView { exec: Some(2), attempt: 0, ..check.clone() };
        let view = ResultView {
            task_id: id(),
            status: ShownTaskStatus::Completed,
            summary: Some("done".to_owned()),
            verification: Some(VerificationStatus::Unverified),
            steps: vec![],
            jobs: vec![job, check, exec],
        };

        insta::assert_snapshot!(render_result(&view, render_context()));
        insta::assert_json_snapshot!(view);
    }

    #[test]
    fn history_is_listed_in_order_with_edges() {
        let row = |sequence, node: &str, edge: &str| TransitionView {
            sequence,
            node: node.to_owned(),
            edge: edge.to_owned(),
            step_index: Some(0),
            job_id: None,
            duration_ms: 12,
            recorded_at: at(50),
        };
        let rows = [row(1, "load_task_context", "loaded"), row(2, "plan_steps", "planned")];

        insta::assert_snapshot!(history(&rows, render_context()));
    }
}
