//! The status of a task as people, agents and clients see it.
//!
//! The database stores `pending` where clients see `queued`, and `running` also for a task whose run waits
//! for a person, which clients see as `waiting`. Two types separate the two vocabularies: a status that
//! leaves the process is a [`ShownTaskStatus`].

use super::TaskStatus;

words! {
    /// The status of a task.
    ShownTaskStatus("task status") {
        /// Created, and nothing has run yet.
        Queued = "queued",
        /// A runner executes its workflow.
        Running = "running",
        /// Its run waits for a person's answer.
        Waiting = "waiting",
        /// Every step was accepted.
        Completed = "completed",
        /// A step failed permanently; the summary says why.
        Failed = "failed",
        /// A person canceled it, or a task it depends on was canceled.
        Canceled = "canceled",
        /// Replaced by another task.
        Superseded = "superseded",
    }
}

impl TaskStatus {
    /// The status for clients. It cannot return [`ShownTaskStatus::Waiting`]: that depends on the run, not
    /// on the task's status.
    pub const fn to_shown(self) -> ShownTaskStatus {
        match self {
            Self::Pending => ShownTaskStatus::Queued,
            Self::Running => ShownTaskStatus::Running,
            Self::Completed => ShownTaskStatus::Completed,
            Self::Failed => ShownTaskStatus::Failed,
            Self::Canceled => ShownTaskStatus::Canceled,
            Self::Superseded => ShownTaskStatus::Superseded,
        }
    }
}

impl From<ShownTaskStatus> for TaskStatus {
    fn from(shown: ShownTaskStatus) -> Self {
        match shown {
            ShownTaskStatus::Queued => Self::Pending,
            ShownTaskStatus::Running | ShownTaskStatus::Waiting => Self::Running,
            ShownTaskStatus::Completed => Self::Completed,
            ShownTaskStatus::Failed => Self::Failed,
            ShownTaskStatus::Canceled => Self::Canceled,
            ShownTaskStatus::Superseded => Self::Superseded,
        }
    }
}

#[cfg(test)]
mod tests {
    use utoipa::PartialSchema as _;

    use super::*;

    #[test]
    fn the_reference_spells_words_as_the_wire_does() {
        let shown = serde_json::to_value(ShownTaskStatus::schema()).unwrap();
        let kept = serde_json::to_value(TaskStatus::schema()).unwrap();

        assert_eq!(shown["enum"], serde_json::to_value(ShownTaskStatus::ALL).unwrap());
        assert_eq!(kept["enum"], serde_json::to_value(TaskStatus::ALL).unwrap());
    }

    #[test]
    fn what_is_shown_of_a_task_leads_back_to_its_status() {
        let shown: Vec<_> = TaskStatus::ALL.iter().map(|status| status.to_shown()).collect();
        let of_a_status: Vec<_> =
            ShownTaskStatus::ALL.iter().filter(|s| **s != ShownTaskStatus::Waiting).collect();
        assert_eq!(shown.iter().collect::<Vec<_>>(), of_a_status);
        assert_eq!(TaskStatus::from(ShownTaskStatus::Waiting), TaskStatus::Running);

        for &status in TaskStatus::ALL {
            assert_eq!(TaskStatus::from(status.to_shown()), status);
        }
    }

    #[test]
    fn only_a_waiting_task_is_shown_by_another_word_than_it_is_kept_by() {
        for &status in TaskStatus::ALL {
            let expected = if status == TaskStatus::Pending { "queued" } else { status.as_str() };
            assert_eq!(status.to_shown().as_str(), expected);
        }
    }

    #[test]
    fn an_unknown_word_lists_the_known_ones() {
        let words = "queued, running, waiting, completed, failed, canceled, superseded";
        let refusal = "pending".parse::<ShownTaskStatus>().unwrap_err();
        assert_eq!(
            refusal.to_string(),
            format!("\"pending\" is not a valid task status; use one of: {words}")
        );

        let unread =
            serde_json::from_str::<ShownTaskStatus>("\"pending\"").unwrap_err().to_string();
        assert!(unread.contains("unknown variant `pending`, expected one of `queued`"), "{unread}");
    }
}
