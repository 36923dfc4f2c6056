//! Requests a decision from a model: one forced function, one repair, few retries.

use std::time::Duration;

use cynode_llm_wire::openai::{
    AssistantMessage, ChatCompletion, ChatMessage, ChatRequest, Content, ToolDefinition,
};
use serde_json::Value;
use tokio::time::Instant;
use tracing::debug;

use super::answer::{self, AnswerFault};
use super::exchange::ModelExchange;
use super::{Brain, BrainDecision, ChatModel, ModelError};
use crate::model_schema::schema_for_model;

/// The only function that is offered, which the model must call.
pub(super) const RESPOND: &str = "respond";
/// The longest pause before a retry.
const MAX_RETRY_PAUSE: Duration = Duration::from_secs(10);
/// The pause without a `retry_after`.
const DEFAULT_RETRY_PAUSE: Duration = Duration::from_secs(1);

impl Brain {
    /// Returns the model's answer and name.
    pub(super) async fn ask_model<D: BrainDecision>(
        &self,
        model: &dyn ChatModel,
        question: &D,
        input: Value,
    ) -> Result<(D::Answer, Option<String>), ModelError> {
        let mut exchange = ModelExchange::new(D::PURPOSE, input, self.build_request(question));
        let completion = self.ask_with_retries(model, &exchange).await?;
        let unfit = match answer::parse_answer(question, &completion) {
            Ok(answer) => return Ok((answer, model_name(completion))),
            Err(AnswerFault::Declined(words)) => return Err(ModelError::Declined(words)),
            Err(AnswerFault::Invalid(fault)) if cynode_fault::fault!("PMO-02") => {
                return Err(ModelError::Unusable(fault));
            }
            Err(AnswerFault::Invalid(fault)) => fault,
        };
        debug!(
            decision.purpose = D::PURPOSE,
            fault = unfit,
            "answer rejected, requesting a repair"
        );
        let mut request = exchange.request;
        request.messages.extend(repair_messages(completion.message(), &unfit));
        exchange = ModelExchange::new(D::PURPOSE, exchange.input, request);
        let completion = self.ask_with_retries(model, &exchange).await?;
        match answer::parse_answer(question, &completion) {
            Ok(answer) => Ok((answer, model_name(completion))),
            Err(AnswerFault::Declined(words)) => Err(ModelError::Declined(words)),
            Err(AnswerFault::Invalid(fault)) => Err(ModelError::Unusable(fault)),
        }
    }

    pub(super) fn build_request<D: BrainDecision>(&self, question: &D) -> ChatRequest {
        let respond = ToolDefinition::function(
            RESPOND,
            "Gives the answer.",
            schema_for_model(question.schema()),
        );
        let prompt = question.prompt();
        ChatRequest {
            model: Some(D::HINT.to_owned()),
            messages: vec![
                ChatMessage::text("system", self.system_message_for(&prompt)),
                ChatMessage::text("user", prompt),
            ],
            tool_choice: respond.forced(),
            tools: vec![respond],
            max_tokens: Some(self.options.max_tokens),
            temperature: Some(self.options.temperature),
            ..ChatRequest::default()
        }
    }

    /// The time until the deadline.
    fn time_left(&self) -> Duration {
        self.deadline.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()))
    }

    /// Sends a request, with retries while the model is unavailable.
    async fn ask_with_retries(
        &self,
        model: &dyn ChatModel,
        exchange: &ModelExchange,
    ) -> Result<ChatCompletion, ModelError> {
        let mut left = self.options.max_retries;
        loop {
            let within = self.options.max_request_duration.min(self.time_left());
            if within.is_zero() {
                let message = "no time is left for the request".to_owned();
                return Err(ModelError::Unavailable { message, retry_after: None });
            }
            let error = match tokio::time::timeout(within, model.complete(exchange)).await {
                Ok(Ok(completion)) => return Ok(completion),
                Ok(Err(error)) => error,
                Err(_) => {
                    let message = format!("no answer within {:.0} s", within.as_secs_f64());
                    ModelError::Unavailable { message, retry_after: Some(Duration::ZERO) }
                }
            };
            let ModelError::Unavailable { retry_after, .. } = &error else { return Err(error) };
            let pause = retry_after.unwrap_or(DEFAULT_RETRY_PAUSE);
            if left == 0 || pause > MAX_RETRY_PAUSE || pause >= self.time_left() {
                return Err(error);
            }
            left -= 1;
            tokio::time::sleep(pause).await;
        }
    }
}

fn model_name(completion: ChatCompletion) -> Option<String> {
    Some(completion.model).filter(|name| !name.is_empty())
}

/// The messages of a repair request: the model's answer and its fault.
fn repair_messages(reply: Option<&AssistantMessage>, fault: &str) -> Vec<ChatMessage> {
    let plea = format!("Invalid answer: {fault}. Answer again in the required format.");
    let Some(reply) = reply else { return vec![ChatMessage::text("user", plea)] };
    let repeated = ChatMessage {
        role: "assistant".to_owned(),
        content: reply.content.clone().map(Content::Text),
        tool_calls: reply.tool_calls.clone(),
        ..ChatMessage::default()
    };
    if reply.tool_calls.is_empty() {
        return vec![repeated, ChatMessage::text("user", plea)];
    }
    // Providers require a result for every tool call.
    let answers = reply.tool_calls.iter().map(|call| ChatMessage::tool_result(&call.id, &*plea));
    std::iter::once(repeated.clone()).chain(answers).collect()
}
