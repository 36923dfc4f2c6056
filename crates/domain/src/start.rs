//! Start triggers of a workflow, and the start condition.
//!
//! Start at [`check_start`]: the condition that every start must meet, regardless of its trigger.

use crate::status::TaskStatus;

words! {
    /// What started a workflow.
    Trigger("start trigger") {
        /// A task created through the API.
        Api = "api",
        /// A task that an agent created through its tools, for a chat user.
        Chat = "chat",
        /// A task that the project manager created for a schedule.
        Schedule = "schedule",
        /// A task that carries out a unit of a request.
        Request = "request",
        /// A task that continues from a row of another task's run.
        Fork = "fork",
    }
}

/// Why a workflow may not start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    #[error("it is already {}", .0.to_shown())]
    Closed(TaskStatus),
    #[error("dependencies not satisfied: \"{name}\" is {}", .status.to_shown())]
    Dependency { name: String, status: TaskStatus },
}

/// Checks that the workflow of a task may start: the task is open and all its dependencies have
/// completed.
pub fn check_start(
    task: TaskStatus,
    depends_on: impl IntoIterator<Item = (String, TaskStatus)>,
) -> Result<(), Denied> {
    if task.is_terminal() {
        return Err(Denied::Closed(task));
    }
    let open = depends_on.into_iter().find(|(_, status)| *status != TaskStatus::Completed);
    open.map_or(Ok(()), |(name, status)| Err(Denied::Dependency { name, status }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_lists_exactly_the_triggers_that_there_are_and_has_one_diagram() {
        let reference = include_str!("../../../docs/reference/start-triggers.md");
        let (_, table) = reference.split_once("\n| trigger |").unwrap();
        let (table, _) = table.split_once("\n\n").unwrap();

        let listed: Vec<&str> = table
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
            .map(|(name, _)| name)
            .collect();

        let known: Vec<&str> = Trigger::ALL.iter().map(|trigger| trigger.as_str()).collect();
        assert_eq!(listed, known);
        assert_eq!(reference.matches("```mermaid").count(), 1);
        for name in known {
            assert!(reference.contains(&format!("[\"{name}: ")), "the diagram begins with {name}");
        }
    }

    #[test]
    fn a_workflow_starts_when_everything_its_task_depends_on_has_completed() {
        let on = |status| [("wash".to_owned(), TaskStatus::Completed), ("cut".to_owned(), status)];

        assert_eq!(check_start(TaskStatus::Pending, []), Ok(()));
        assert_eq!(check_start(TaskStatus::Pending, on(TaskStatus::Completed)), Ok(()));
        for status in TaskStatus::ALL.iter().copied().filter(|s| *s != TaskStatus::Completed) {
            let denied = check_start(TaskStatus::Pending, on(status)).unwrap_err();
            let expected = format!("dependencies not satisfied: \"cut\" is {}", status.to_shown());
            assert_eq!(denied.to_string(), expected);
        }
    }

    #[test]
    fn a_closed_task_never_starts_again() {
        for closed in TaskStatus::ALL.iter().copied().filter(|status| status.is_terminal()) {
            assert_eq!(check_start(closed, []), Err(Denied::Closed(closed)));
        }
    }
}
