//! Asking a model for a decision: one forced function, one repair, few retries.

use std::time::Duration;

use cynode_wire::openai::{
    AssistantMessage, ChatCompletion, ChatMessage, ChatRequest, Content, ToolDefinition,
};
use serde_json::Value;
use tokio::time::Instant;
use tracing::debug;

use super::answer::{self, Unfit};
use super::exchange::Exchange;
use super::{Brain, Decision, Model, ModelError};
use crate::offered::offered;

/// The function that a model must call, and the only one it is offered.
pub(super) const RESPOND: &str = "respond";
/// The longest pause before a question is asked again.
const MAX_PAUSE: Duration = Duration::from_secs(10);
/// The pause where nobody said how long.
const PAUSE: Duration = Duration::from_secs(1);

impl Brain {
    /// The model's answer, and the model's name.
    pub(super) async fn consult<D: Decision>(
        &self,
        model: &dyn Model,
        question: &D,
        input: Value,
    ) -> Result<(D::Answer, Option<String>), ModelError> {
        let mut exchange = Exchange::new(D::PURPOSE, input, self.request(question));
        let completion = self.patiently(model, &exchange).await?;
        let unfit = match answer::read(question, &completion) {
            Ok(answer) => return Ok((answer, name(completion))),
            Err(Unfit::Declined(words)) => return Err(ModelError::Declined(words)),
            Err(Unfit::Faulty(fault)) => fault,
        };
        debug!(decision.purpose = D::PURPOSE, "{} is asked again: {unfit}", D::PURPOSE);
        let mut request = exchange.request;
        request.messages.extend(correction(completion.message(), &unfit));
        exchange = Exchange::new(D::PURPOSE, exchange.input, request);
        let completion = self.patiently(model, &exchange).await?;
        match answer::read(question, &completion) {
            Ok(answer) => Ok((answer, name(completion))),
            Err(Unfit::Declined(words)) => Err(ModelError::Declined(words)),
            Err(Unfit::Faulty(fault)) => Err(ModelError::Unusable(fault)),
        }
    }

    pub(super) fn request<D: Decision>(&self, question: &D) -> ChatRequest {
        let respond =
            ToolDefinition::function(RESPOND, "Gives the answer.", offered(question.schema()));
        let prompt = question.prompt();
        ChatRequest {
            model: Some(D::HINT.to_owned()),
            messages: vec![
                ChatMessage::text("system", self.system_for(&prompt)),
                ChatMessage::text("user", prompt),
            ],
            tool_choice: respond.forced(),
            tools: vec![respond],
            max_tokens: Some(self.options.max_tokens),
            temperature: Some(self.options.temperature),
            ..ChatRequest::default()
        }
    }

    /// How long there is somebody who waits for a decision.
    fn time_left(&self) -> Duration {
        self.until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()))
    }

    /// Asks until there is an answer, a few times where waiting may help.
    async fn patiently(
        &self,
        model: &dyn Model,
        exchange: &Exchange,
    ) -> Result<ChatCompletion, ModelError> {
        let mut left = self.options.max_retries;
        loop {
            let within = self.options.longest.min(self.time_left());
            if within.is_zero() {
                let message = "there is no time left to ask it".to_owned();
                return Err(ModelError::Away { message, retry_after: None });
            }
            let error = match tokio::time::timeout(within, model.ask(exchange)).await {
                Ok(Ok(completion)) => return Ok(completion),
                Ok(Err(error)) => error,
                Err(_) => {
                    let message = format!("no answer within {:.0} s", within.as_secs_f64());
                    ModelError::Away { message, retry_after: Some(Duration::ZERO) }
                }
            };
            let ModelError::Away { retry_after, .. } = &error else { return Err(error) };
            let pause = retry_after.unwrap_or(PAUSE);
            if left == 0 || pause > MAX_PAUSE || pause >= self.time_left() {
                return Err(error);
            }
            left -= 1;
            tokio::time::sleep(pause).await;
        }
    }
}

fn name(completion: ChatCompletion) -> Option<String> {
    Some(completion.model).filter(|name| !name.is_empty())
}

/// What the model said, and what was wrong with it.
fn correction(said: Option<&AssistantMessage>, fault: &str) -> Vec<ChatMessage> {
    let plea = format!("That cannot be used: {fault}. Answer once more, with what is asked.");
    let Some(said) = said else { return vec![ChatMessage::text("user", plea)] };
    let repeated = ChatMessage {
        role: "assistant".to_owned(),
        content: said.content.clone().map(Content::Text),
        tool_calls: said.tool_calls.clone(),
        ..ChatMessage::default()
    };
    if said.tool_calls.is_empty() {
        return vec![repeated, ChatMessage::text("user", plea)];
    }
    // Every call must be answered before a provider takes the conversation again.
    let answers = said.tool_calls.iter().map(|call| ChatMessage::tool_result(&call.id, &*plea));
    std::iter::once(repeated.clone()).chain(answers).collect()
}
