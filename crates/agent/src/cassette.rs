//! Cassettes: model exchanges recorded to files and replayed from them.
//!
//! A [`Recording`] is one readable file without secrets, named by purpose and key ([`ModelExchange::key`]). A replay
//! sends no model request and fails if there is no recording.

mod recording;
mod replay;

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use cynode_llm::ChunkCollector;
use cynode_llm_wire::openai::{
    AssistantMessage, ChatChunk, ChatCompletion, Delta, FunctionDelta, ToolCall, ToolCallDelta,
};
use futures_util::{StreamExt as _, stream};
use tracing::warn;

pub use recording::{Recording, RecordingError};
pub use replay::{ReplayResult, ReplayVerdict, replay};

use crate::brain::{
    CassetteMode, ChatModel, MissingRecording, ModelError, ModelExchange, ModelStream,
};

/// Wraps the model as the mode demands: unchanged, recording, or replaced by recordings.
pub(crate) fn wrap_model(
    model: Option<Arc<dyn ChatModel>>,
    mode: &CassetteMode,
) -> Option<Arc<dyn ChatModel>> {
    match mode {
        CassetteMode::Off => model,
        CassetteMode::Record(folder) => {
            let folder = folder.clone();
            model.map(|model| Arc::new(RecordingModel { model, folder }) as Arc<dyn ChatModel>)
        }
        CassetteMode::Replay(folder) => Some(Arc::new(ReplayModel { folder: folder.clone() })),
    }
}

/// A model whose exchanges are recorded.
struct RecordingModel {
    model: Arc<dyn ChatModel>,
    folder: PathBuf,
}

#[async_trait]
impl ChatModel for RecordingModel {
    async fn complete(&self, exchange: &ModelExchange) -> Result<ChatCompletion, ModelError> {
        let answer = self.model.complete(exchange).await?;
        save_recording(&self.folder, exchange, &answer).await;
        Ok(answer)
    }

    async fn stream(&self, exchange: &ModelExchange) -> Result<ModelStream, ModelError> {
        let chunks = self.model.stream(exchange).await?;
        let (folder, exchange) = (self.folder.clone(), exchange.clone());
        let state = (chunks, Some(ChunkCollector::default()), folder, exchange);
        let kept = stream::unfold(state, |(mut chunks, mut whole, folder, exchange)| async move {
            let Some(chunk) = chunks.next().await else {
                if let Some(collector) = whole {
                    save_recording(&folder, &exchange, &collector.finish()).await;
                }
                return None;
            };
            match (&chunk, &mut whole) {
                (Ok(chunk), Some(collector)) => collector.push(chunk),
                // A truncated answer is not recorded.
                (Err(_), _) => whole = None,
                (Ok(_), None) => {}
            }
            Some((chunk, (chunks, whole, folder, exchange)))
        });
        Ok(kept.boxed())
    }
}

/// Saves a recording. A failure is only logged because the answer itself is complete.
async fn save_recording(
    folder: &std::path::Path,
    exchange: &ModelExchange,
    answer: &ChatCompletion,
) {
    if let Err(fault) = Recording::from_exchange(exchange, answer).save(folder).await {
        warn!(error = &fault as &dyn std::error::Error, "exchange not recorded");
    }
}

/// A model that answers from recordings.
struct ReplayModel {
    folder: PathBuf,
}

#[async_trait]
impl ChatModel for ReplayModel {
    async fn complete(&self, exchange: &ModelExchange) -> Result<ChatCompletion, ModelError> {
        let (purpose, key) = (exchange.purpose.clone(), exchange.key());
        let found = Recording::find(&self.folder, &purpose, &key).await;
        match found {
            Ok(Some(recording)) => Ok(recording.answer),
            Ok(None) => Err(MissingRecording { purpose, key }.into()),
            Err(fault) => {
                warn!(error = &fault as &dyn std::error::Error, "recording not usable");
                Err(MissingRecording { purpose, key }.into())
            }
        }
    }

    async fn stream(&self, exchange: &ModelExchange) -> Result<ModelStream, ModelError> {
        let answer = self.complete(exchange).await?;
        let usage = answer.usage.clone();
        let mut chunks = Vec::new();
        if let Some(choice) = answer.choices.into_iter().next() {
            let mut chunk = ChatChunk::new(message_to_delta(choice.message), choice.finish_reason);
            chunk.model = answer.model;
            chunks.push(Ok(chunk));
        }
        chunks.push(Ok(ChatChunk { usage, ..ChatChunk::default() }));
        Ok(stream::iter(chunks).boxed())
    }
}

/// Converts a whole message to one chunk.
fn message_to_delta(message: AssistantMessage) -> Delta {
    let call = |(index, call): (usize, ToolCall)| ToolCallDelta {
        index: u32::try_from(index).unwrap_or(u32::MAX),
        id: Some(call.id),
        kind: Some(call.kind),
        function: call.function.map(|function| FunctionDelta {
            name: Some(function.name),
            arguments: Some(function.arguments),
        }),
        other: call.other,
    };
    Delta {
        role: Some(message.role),
        content: message.content,
        refusal: message.refusal,
        tool_calls: message.tool_calls.into_iter().enumerate().map(call).collect(),
        ..Delta::default()
    }
}

#[cfg(test)]
mod tests;
