//! One exchange as a file that people can read.

use std::io;
use std::path::{Path, PathBuf};

use cynode_runtime::redact::redact_json;
use cynode_wire::openai::{ChatCompletion, ChatMessage, ToolDefinition};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::brain::Exchange;

/// The shape of the file; a newer one is refused.
const VERSION: u32 = 1;

/// One exchange with a model, without secrets.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    /// The shape of this file.
    pub version: u32,
    /// What the exchange is known by.
    pub key: String,
    /// What it was for.
    pub purpose: String,
    /// The input of the decision, where it is one.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub input: Value,
    /// What the model was told.
    pub messages: Vec<ChatMessage>,
    /// The functions that it could call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolDefinition>,
    /// What it answered.
    pub answer: ChatCompletion,
}

/// Why a record cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum BadRecording {
    /// The disk.
    #[error("{} cannot be read or written", .path.display())]
    Disk {
        /// The file.
        path: PathBuf,
        /// What the system says.
        #[source]
        cause: io::Error,
    },
    /// The content.
    #[error("{} is no record of an exchange: {reason}", .path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

impl Recording {
    /// The record of an exchange; secrets are taken out of it.
    pub fn of(exchange: &Exchange, answer: &ChatCompletion) -> Self {
        Self {
            version: VERSION,
            key: exchange.key(),
            purpose: exchange.purpose.clone(),
            input: exchange.input.clone(),
            messages: exchange.request.messages.clone(),
            tools: exchange.request.tools.clone(),
            answer: answer.clone(),
        }
    }

    /// Where in a folder the record with this key is.
    pub fn path(folder: &Path, purpose: &str, key: &str) -> PathBuf {
        // Purposes and keys are ours; what is not a plain word never becomes part of a path.
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let purpose: String = purpose.chars().map(plain).collect();
        let key: String = key.chars().map(plain).take(32).collect();
        folder.join(purpose).join(format!("{key}.json"))
    }

    /// Reads the record with this key, if there is one.
    pub async fn find(
        folder: &Path,
        purpose: &str,
        key: &str,
    ) -> Result<Option<Self>, BadRecording> {
        let path = Self::path(folder, purpose, key);
        match Self::load(&path).await {
            Err(BadRecording::Disk { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => {
                Ok(None)
            }
            other => other.map(Some),
        }
    }

    /// Reads a record.
    pub async fn load(path: &Path) -> Result<Self, BadRecording> {
        let disk = |cause| BadRecording::Disk { path: path.to_owned(), cause };
        let content = |reason| BadRecording::Content { path: path.to_owned(), reason };
        let bytes = tokio::fs::read(path).await.map_err(disk)?;
        let read: Self =
            serde_json::from_slice(&bytes).map_err(|fault| content(fault.to_string()))?;
        if read.version > VERSION {
            return Err(content(format!("it has version {}, and we know {VERSION}", read.version)));
        }
        Ok(read)
    }

    /// Writes the record to its place in a folder, whole or not at all.
    pub async fn save(&self, folder: &Path) -> Result<PathBuf, BadRecording> {
        let path = Self::path(folder, &self.purpose, &self.key);
        let disk = |cause| BadRecording::Disk { path: path.clone(), cause };
        let mut value = serde_json::to_value(self).map_err(|fault| BadRecording::Content {
            path: path.clone(),
            reason: fault.to_string(),
        })?;
        // The key is a hash and no secret, though it ends with the word.
        let key = value["key"].take();
        redact_json(&mut value);
        value["key"] = key;
        if let Some(parent) = path.parent() {
            tokio::fs::create_dir_all(parent).await.map_err(disk)?;
        }
        let unfinished = path.with_extension("tmp");
        let text = format!("{value:#}\n");
        tokio::fs::write(&unfinished, text).await.map_err(disk)?;
        tokio::fs::rename(&unfinished, &path).await.map_err(disk)?;
        Ok(path)
    }
}
