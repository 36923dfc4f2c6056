//! Answers an agent's question from the task, or escalates it to a person.

use cynode_domain::agent::InstructionKind;
use cynode_domain::report::AgentQuestion;
use serde_json::json;

use super::ReportContext;
use crate::HandoffAgentError;
use crate::brain::decisions::AnswerClarification;
use crate::context::untrusted;

impl ReportContext {
    /// Answers a question, or escalates it to a person.
    pub(super) async fn answer_question(
        &mut self,
        inquiry: &AgentQuestion,
    ) -> Result<String, HandoffAgentError> {
        let question = AnswerClarification {
            role: self.from.clone(),
            question: inquiry.question.clone(),
            options: inquiry.options.clone(),
            context: inquiry.context.clone().unwrap_or_default(),
            request: self.task.prompt.clone(),
            criteria: self.criteria(),
        };
        let clarified = self.work.decide(&question).await?;
        let from = self.from.clone();
        let shown = untrusted::inline(&inquiry.question);
        if clarified.answer.trim().is_empty() {
            let reason = untrusted::inline(&clarified.reason);
            self.needs_person = Some(format!("{from} asks: {shown} ({reason})"));
            return Ok(format!("a person must answer {from}: {shown}"));
        }
        let context = json!({ "question": shown });
        self.instruct(&from, InstructionKind::Continue, &clarified.answer, context).await?;
        Ok(format!("answered {from}: {}", untrusted::inline(&clarified.reason)))
    }
}
