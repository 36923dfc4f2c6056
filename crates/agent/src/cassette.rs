//! Exchanges with models on disk: recorded once, answered from there again and again.
//!
//! A [`Recording`] is one readable file, named by purpose and key ([`Exchange::key`]), without
//! secrets. A replay asks nobody: what has no record fails loudly.

mod file;
mod replay;

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use cynode_llm::Collector;
use cynode_wire::openai::{
    AssistantMessage, ChatChunk, ChatCompletion, Delta, FunctionDelta, ToolCall, ToolCallDelta,
};
use futures_util::{StreamExt as _, stream};
use tracing::warn;

pub use file::{BadRecording, Recording};
pub use replay::{Replayed, Verdict, replay};

use crate::brain::{CassetteMode, Exchange, Model, ModelError, ModelStream, NoRecord};

/// The model that the mode says: as given, recorded, or replaced by records.
pub(crate) fn over(model: Option<Arc<dyn Model>>, mode: &CassetteMode) -> Option<Arc<dyn Model>> {
    match mode {
        CassetteMode::Off => model,
        CassetteMode::Record(folder) => {
            let folder = folder.clone();
            model.map(|model| Arc::new(Recorder { model, folder }) as Arc<dyn Model>)
        }
        CassetteMode::Replay(folder) => Some(Arc::new(Player { folder: folder.clone() })),
    }
}

/// A model whose answers are kept.
struct Recorder {
    model: Arc<dyn Model>,
    folder: PathBuf,
}

#[async_trait]
impl Model for Recorder {
    async fn ask(&self, exchange: &Exchange) -> Result<ChatCompletion, ModelError> {
        let answer = self.model.ask(exchange).await?;
        keep(&self.folder, exchange, &answer).await;
        Ok(answer)
    }

    async fn stream(&self, exchange: &Exchange) -> Result<ModelStream, ModelError> {
        let pieces = self.model.stream(exchange).await?;
        let (folder, exchange) = (self.folder.clone(), exchange.clone());
        let state = (pieces, Some(Collector::default()), folder, exchange);
        let kept = stream::unfold(state, |(mut pieces, mut whole, folder, exchange)| async move {
            let Some(piece) = pieces.next().await else {
                if let Some(collector) = whole {
                    keep(&folder, &exchange, &collector.finish()).await;
                }
                return None;
            };
            match (&piece, &mut whole) {
                (Ok(chunk), Some(collector)) => collector.push(chunk),
                // What broke off is no answer.
                (Err(_), _) => whole = None,
                (Ok(_), None) => {}
            }
            Some((piece, (pieces, whole, folder, exchange)))
        });
        Ok(kept.boxed())
    }
}

/// A record that cannot be written is missed later; the answer is there now.
async fn keep(folder: &std::path::Path, exchange: &Exchange, answer: &ChatCompletion) {
    if let Err(fault) = Recording::of(exchange, answer).save(folder).await {
        warn!(error = &fault as &dyn std::error::Error, "an exchange was not recorded: {fault}");
    }
}

/// Records in the place of a model.
struct Player {
    folder: PathBuf,
}

#[async_trait]
impl Model for Player {
    async fn ask(&self, exchange: &Exchange) -> Result<ChatCompletion, ModelError> {
        let (purpose, key) = (exchange.purpose.clone(), exchange.key());
        let found = Recording::find(&self.folder, &purpose, &key).await;
        match found {
            Ok(Some(recording)) => Ok(recording.answer),
            Ok(None) => Err(NoRecord { purpose, key }.into()),
            Err(fault) => {
                warn!(error = &fault as &dyn std::error::Error, "a record cannot be used: {fault}");
                Err(NoRecord { purpose, key }.into())
            }
        }
    }

    async fn stream(&self, exchange: &Exchange) -> Result<ModelStream, ModelError> {
        let answer = self.ask(exchange).await?;
        let usage = answer.usage.clone();
        let mut pieces = Vec::new();
        if let Some(choice) = answer.choices.into_iter().next() {
            let mut piece = ChatChunk::of(delta(choice.message), choice.finish_reason);
            piece.model = answer.model;
            pieces.push(Ok(piece));
        }
        pieces.push(Ok(ChatChunk { usage, ..ChatChunk::default() }));
        Ok(stream::iter(pieces).boxed())
    }
}

/// A whole message as one piece.
fn delta(message: AssistantMessage) -> Delta {
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
