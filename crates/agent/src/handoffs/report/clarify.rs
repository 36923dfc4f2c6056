//! An agent asks: it gets an answer that follows from the task, or a person gives one.

use cynode_domain::agent::InstructionKind;
use cynode_domain::report::Question;
use serde_json::json;

use super::Matter;
use crate::AgentError;
use crate::brain::decisions::Clarify;
use crate::context::untrusted;

impl Matter {
    /// Answers a question, or leaves it to a person.
    pub(super) async fn clarify(&mut self, asked: &Question) -> Result<String, AgentError> {
        let question = Clarify {
            role: self.from.clone(),
            question: asked.question.clone(),
            options: asked.options.clone(),
            context: asked.context.clone().unwrap_or_default(),
            request: self.task.prompt.clone(),
            criteria: self.criteria(),
        };
        let clarified = self.work.think(&question).await?;
        let from = self.from.clone();
        let shown = untrusted::inline(&asked.question);
        if clarified.answer.trim().is_empty() {
            let reason = untrusted::inline(&clarified.reason);
            self.needs_person = Some(format!("{from} asks: {shown} ({reason})"));
            return Ok(format!("a person must answer {from}: {shown}"));
        }
        let context = json!({ "question": shown });
        self.instruct((&from, InstructionKind::Continue), &clarified.answer, context).await?;
        Ok(format!("{from} is answered: {}", untrusted::inline(&clarified.reason)))
    }
}
