//! Decision: the tasks of a schedule that is due.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{explicit_commands, object_schema, text_list_schema, text_schema};
use crate::brain::{BrainDecision, RuleAnswer};
use crate::context::untrusted;

/// Interprets the payload of a schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterpretSchedule {
    /// The name of the schedule.
    pub schedule: String,
    pub payload: String,
}

/// A task to create.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DueTask {
    pub name: String,
    /// The request in prose; empty if there are commands.
    pub prompt: String,
    /// The commands that the schedule names.
    pub commands: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DueTasks {
    /// Empty if nothing is due this time.
    pub tasks: Vec<DueTask>,
    pub reason: String,
}

impl InterpretSchedule {
    fn single_task(&self, prompt: &str, commands: Vec<String>, reason: &str) -> DueTasks {
        let task = DueTask { name: self.schedule.clone(), prompt: prompt.to_owned(), commands };
        DueTasks { tasks: vec![task], reason: reason.to_owned() }
    }
}

impl BrainDecision for InterpretSchedule {
    type Answer = DueTasks;

    const PURPOSE: &'static str = "scheduled_run";
    const HINT: &'static str = "balanced";

    fn schema(&self) -> Value {
        let task = object_schema(&json!({
            "name": text_schema("Task name.", 100),
            "prompt": { "type": "string", "maxLength": 20_000, "description": "The task in prose; empty if there are commands." },
            "commands": text_list_schema("Command lines that the schedule itself names.", 50),
        }));
        object_schema(&json!({
            "tasks": { "type": "array", "items": task, "maxItems": 10 },
            "reason": text_schema("Why, in one sentence.", 1000),
        }))
    }

    fn prompt(&self) -> String {
        let payload = untrusted::quote("schedule", &self.payload, 16 * 1024);
        format!(
            "The schedule {} is due. Which tasks must be created now?\n\n{payload}",
            untrusted::inline(&self.schedule)
        )
    }

    fn decide_by_rule(&self) -> Option<RuleAnswer<DueTasks>> {
        let commands = explicit_commands(&self.payload);
        (!commands.is_empty()).then(|| {
            let why = "the schedule names its commands";
            RuleAnswer::new(self.single_task("", commands, why), why)
        })
    }

    fn fallback(&self) -> RuleAnswer<DueTasks> {
        let why = "one task for the whole schedule";
        RuleAnswer::new(self.single_task(&self.payload, vec![], why), why)
    }

    fn find_objection(&self, answer: &DueTasks) -> Option<String> {
        let is_empty = |task: &DueTask| task.prompt.trim().is_empty() == task.commands.is_empty();
        answer
            .tasks
            .iter()
            .any(is_empty)
            .then(|| "a task has either a prompt or commands".to_owned())
    }

    fn summarize(answer: &DueTasks) -> String {
        format!("{} tasks: {}", answer.tasks.len(), answer.reason)
    }
}
