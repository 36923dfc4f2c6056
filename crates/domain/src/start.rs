//! What starts a workflow, and whether it may.
//!
//! Start at [`gate`]: the one rule that every start goes through, whatever asked for it.

use crate::status::TaskStatus;

words! {
    /// What asked for the start of a workflow.
    Trigger("start trigger") {
        /// Somebody created a task through the API.
        Api = "api",
        /// An agent created a task through its tools, for somebody it talks with.
        Chat = "chat",
        /// A schedule fired, and the project manager made a task of what it says.
        Schedule = "schedule",
    }
}

/// Why a workflow may not start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// The task is closed.
    #[error("it is {} already", .0.shown())]
    Closed(TaskStatus),
    /// A task that it depends on has not completed.
    #[error("dependencies not satisfied: \"{name}\" is {}", .status.shown())]
    Dependency {
        /// That task.
        name: String,
        /// Where it stands.
        status: TaskStatus,
    },
}

/// Whether the workflow of a task may start: the task is open, and everything that it depends on has
/// completed, whatever asked for the start.
pub fn gate(
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

        assert_eq!(gate(TaskStatus::Pending, []), Ok(()));
        assert_eq!(gate(TaskStatus::Pending, on(TaskStatus::Completed)), Ok(()));
        for status in TaskStatus::ALL.iter().copied().filter(|s| *s != TaskStatus::Completed) {
            let denied = gate(TaskStatus::Pending, on(status)).unwrap_err();
            let expected = format!("dependencies not satisfied: \"cut\" is {}", status.shown());
            assert_eq!(denied.to_string(), expected);
        }
    }

    #[test]
    fn a_closed_task_never_starts_again() {
        for closed in TaskStatus::ALL.iter().copied().filter(|status| status.is_terminal()) {
            assert_eq!(gate(closed, []), Err(Denied::Closed(closed)));
        }
    }
}
