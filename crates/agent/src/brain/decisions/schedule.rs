//! What a schedule that came due wants done.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{explicit_commands, object, text, texts};
use crate::brain::{Decision, Ruling};
use crate::context::untrusted;

/// What does this schedule want done?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterpretSchedule {
    /// The schedule's name.
    pub schedule: String,
    /// What it says.
    pub payload: String,
}

/// A task that is due.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DueTask {
    /// What it is called.
    pub name: String,
    /// What is asked for, in prose; empty where there are commands.
    pub prompt: String,
    /// The commands, where the schedule names them.
    pub commands: Vec<String>,
}

/// What is due.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Due {
    /// The tasks; none if nothing is to be done this time.
    pub tasks: Vec<DueTask>,
    /// Why.
    pub reason: String,
}

impl InterpretSchedule {
    fn one(&self, prompt: &str, commands: Vec<String>, reason: &str) -> Due {
        let task = DueTask { name: self.schedule.clone(), prompt: prompt.to_owned(), commands };
        Due { tasks: vec![task], reason: reason.to_owned() }
    }
}

impl Decision for InterpretSchedule {
    type Answer = Due;

    const PURPOSE: &'static str = "scheduled_run";
    const HINT: &'static str = "balanced";

    fn schema(&self) -> Value {
        let task = object(&json!({
            "name": text("What it is called.", 100),
            "prompt": { "type": "string", "maxLength": 20_000, "description": "What is asked for; empty where there are commands." },
            "commands": texts("Command lines that the schedule itself names.", 50),
        }));
        object(&json!({
            "tasks": { "type": "array", "items": task, "maxItems": 10 },
            "reason": text("Why, in one sentence.", 1000),
        }))
    }

    fn prompt(&self) -> String {
        let payload = untrusted::quote("schedule", &self.payload, 16 * 1024);
        format!(
            "The schedule {} came due. Which tasks does it want made now?\n\n{payload}",
            untrusted::inline(&self.schedule)
        )
    }

    fn by_rule(&self) -> Option<Ruling<Due>> {
        let commands = explicit_commands(&self.payload);
        (!commands.is_empty()).then(|| {
            let why = "the schedule names its commands";
            Ruling::new(self.one("", commands, why), why)
        })
    }

    fn fallback(&self) -> Ruling<Due> {
        let why = "one task for all that it says";
        Ruling::new(self.one(&self.payload, vec![], why), why)
    }

    fn objection(&self, answer: &Due) -> Option<String> {
        let is_empty = |task: &DueTask| task.prompt.trim().is_empty() == task.commands.is_empty();
        answer
            .tasks
            .iter()
            .any(is_empty)
            .then(|| "a task has either a prompt or commands".to_owned())
    }

    fn summary(answer: &Due) -> String {
        format!("{} tasks: {}", answer.tasks.len(), answer.reason)
    }
}
