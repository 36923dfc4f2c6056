//! What people see of a task, its result and its history.

use chrono::TimeDelta;
use cynode_domain::status::ShownTaskStatus;
use cynode_wire::jobs::JobView;
use cynode_wire::tasks::{ResultView, TaskView, TransitionView};

use super::checks;
use crate::out::Look;
use crate::{age, table};

/// Tasks, one a line.
pub(crate) fn tasks(tasks: &[TaskView], look: Look) -> String {
    let rows = tasks.iter().map(|task| {
        vec![
            task.task_name.clone(),
            checks::status(task.status.as_str(), task.verification),
            age::ago(look.now, task.created_at),
            time_taken(task, look),
            table::short(&outlook(task), 60),
        ]
    });
    table::rows(&["TASK", "STATUS", "CREATED", "TOOK", "SUMMARY"], rows, look)
}

/// One task.
pub(crate) fn task(task: &TaskView, look: Look) -> String {
    let waits_for: Vec<String> = task.depends_on.iter().map(ToString::to_string).collect();
    let pairs = [
        ("task", Some(task.task_name.clone())),
        ("status", Some(checks::status(task.status.as_str(), task.verification))),
        ("summary", Some(outlook(task))),
        ("next", next_command(task)),
        ("checked", checks::verification(task.verification)),
        ("prompt", Some(table::short(&task.prompt, 200))),
        ("commands", Some(commands(task))),
        ("waits for", Some(waits_for.join("\n"))),
        ("node", task.node.clone()),
        ("created", Some(age::ago(look.now, task.created_at))),
        ("took", Some(time_taken(task, look))),
        ("id", Some(task.id.to_string())),
    ];
    table::pairs(&pairs, look)
}

/// The commands that were run, with the checks that were applied to each; before that, those asked for.
fn commands(task: &TaskView) -> String {
    if task.steps.is_empty() {
        return task.commands.join("\n");
    }
    checks::lines(&task.steps).join("\n")
}

/// What came of a task, or why nothing will.
fn outlook(task: &TaskView) -> String {
    let is_waiting = task.status == ShownTaskStatus::Waiting;
    let blocked = task.blocked_reason.as_ref().map(|reason| match task.started_at {
        Some(_) if is_waiting => reason.clone(),
        Some(_) => format!("stands still: {reason}"),
        None => format!("will not start: {reason}"),
    });
    task.summary.clone().or(blocked).unwrap_or_default()
}

/// What to type where the task waits for its reader.
fn next_command(task: &TaskView) -> Option<String> {
    let name = &task.task_name;
    (task.status == ShownTaskStatus::Waiting).then(|| {
        format!("see `cynork run show {name}`, then answer with `cynork run answer {name}`")
    })
}

/// A result: its status, then one line a job.
pub(crate) fn result(result: &ResultView, look: Look) -> String {
    let pairs = [
        ("status", Some(checks::status(result.status.as_str(), result.verification))),
        ("summary", result.summary.clone()),
        ("checked", checks::verification(result.verification)),
        ("commands", Some(checks::lines(&result.steps).join("\n"))),
    ];
    let head = table::pairs(&pairs, look);
    if result.jobs.is_empty() {
        return head;
    }
    let rows = result.jobs.iter().map(job);
    let header = ["STEP", "ATTEMPT", "STATUS", "ENDING", "TOOK", "OUTPUT"];
    format!("{head}\n\n{}", table::rows(&header, rows, look))
}

/// Transitions, one a line.
pub(crate) fn history(rows: &[TransitionView], look: Look) -> String {
    let rows = rows.iter().map(|row| {
        vec![
            row.sequence.to_string(),
            row.node.clone(),
            row.edge.clone(),
            row.step_index.map(|index| (index + 1).to_string()).unwrap_or_default(),
            age::took(TimeDelta::milliseconds(row.duration_ms)),
            age::ago(look.now, row.recorded_at),
        ]
    });
    table::rows(&["#", "NODE", "EDGE", "STEP", "TOOK", "WHEN"], rows, look)
}

fn job(job: &JobView) -> Vec<String> {
    let (ending, output) = match &job.result {
        Some(result) => (result.ending.describe(), last_line(&result.stdout)),
        None => (String::new(), String::new()),
    };
    let took = job.started_at.zip(job.ended_at).map(|(start, end)| age::took(end - start));
    vec![
        job.exec.map_or_else(|| (job.step_index + 1).to_string(), |_| "-".to_owned()),
        attempt(job),
        job.status.to_string(),
        table::short(&ending, 60),
        took.unwrap_or_default(),
        output,
    ]
}

/// The attempt, and which check of it the job is; or which command in the workspace.
fn attempt(job: &JobView) -> String {
    if let Some(number) = job.exec {
        return format!("exec {number}");
    }
    match job.check {
        Some(number) => format!("{}, check {number}", job.attempt),
        None => job.attempt.to_string(),
    }
}

fn last_line(text: &str) -> String {
    table::short(text.trim_end().lines().last().unwrap_or_default(), 40)
}

fn time_taken(task: &TaskView, look: Look) -> String {
    match (task.started_at, task.ended_at) {
        (Some(start), Some(end)) => age::took(end - start),
        (Some(start), None) => format!("{} so far", age::took(look.now - start)),
        (None, _) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};
    use cynode_domain::ids::{JobId, ProjectId, TaskId};
    use cynode_domain::job::Ending;
    use cynode_domain::plan::InputMode;
    use cynode_domain::status::JobStatus;
    use cynode_domain::verification::VerificationStatus;
    use cynode_wire::jobs::{JobResult, Truncated};

    use super::*;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds)
    }

    fn look() -> Look {
        Look { now: at(100), width: None }
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
            run_id: None,
            input_mode: InputMode::Commands,
            prompt: String::new(),
            commands: vec!["make".to_owned(), "make test".to_owned()],
            acceptance_criteria: vec![],
            step_criteria: vec![],
            depends_on: vec![],
            blocked_reason: None,
            node: None,
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
    fn tasks_are_listed_with_age_and_duration() {
        let views =
            [view("build", ShownTaskStatus::Completed), view("deploy-2", ShownTaskStatus::Failed)];
        let unverified = Some(VerificationStatus::Unverified);
        let views = views.map(|task| match task.task_name.as_str() {
            "build" => TaskView { verification: unverified, ..task },
            _ => TaskView { verification: None, ..task },
        });

        insta::assert_snapshot!(tasks(&views, look()));
    }

    #[test]
    fn one_task_is_shown_with_its_commands() {
        insta::assert_snapshot!(task(&view("build", ShownTaskStatus::Completed), look()));
    }

    #[test]
    fn a_task_that_waits_for_a_person_says_so_and_how_to_answer() {
        let waiting = TaskView {
            closed: false,
            summary: None,
            verification: None,
            blocked_reason: Some("it waits for a person's answer: Which files?".to_owned()),
            ended_at: None,
            ..view("nicer", ShownTaskStatus::Waiting)
        };

        insta::assert_snapshot!(format!(
            "{}\n\n{}",
            tasks(std::slice::from_ref(&waiting), look()),
            task(&waiting, look())
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
                ending: Ending::Exited { code: 0 },
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

        insta::assert_snapshot!(result(&view, look()));
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

        insta::assert_snapshot!(history(&rows, look()));
    }
}
