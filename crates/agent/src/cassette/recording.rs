//! One recorded exchange as a readable file.

use std::io;
use std::path::{Path, PathBuf};

use cynode_llm_wire::openai::{ChatCompletion, ChatMessage, ToolDefinition};
use cynode_runtime::redact::redact_json;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::brain::ModelExchange;

/// The format version; newer files are rejected.
const VERSION: u32 = 1;

/// One model exchange without secrets.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    /// The format version of this file.
    pub version: u32,
    /// See [`ModelExchange::key`].
    pub key: String,
    pub purpose: String,
    /// The input of the decision; null for other exchanges.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub input: Value,
    pub messages: Vec<ChatMessage>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolDefinition>,
    pub answer: ChatCompletion,
}

/// Why a recording cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    #[error("{} cannot be read or written", .path.display())]
    Io {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("{} is not a recorded exchange: {reason}", .path.display())]
    Invalid { path: PathBuf, reason: String },
}

impl Recording {
    /// Creates the recording of an exchange. Secrets are redacted by [`Self::save`].
    pub fn from_exchange(exchange: &ModelExchange, answer: &ChatCompletion) -> Self {
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

    /// The path of the recording with this key.
    pub fn path(folder: &Path, purpose: &str, key: &str) -> PathBuf {
        // Other characters never become part of a path.
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let purpose: String = purpose.chars().map(plain).collect();
        let key: String = key.chars().map(plain).take(32).collect();
        folder.join(purpose).join(format!("{key}.json"))
    }

    /// Loads the recording with this key, if there is one.
    pub async fn find(
        folder: &Path,
        purpose: &str,
        key: &str,
    ) -> Result<Option<Self>, RecordingError> {
        let path = Self::path(folder, purpose, key);
        match Self::load(&path).await {
            Err(RecordingError::Io { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => {
                Ok(None)
            }
            other => other.map(Some),
        }
    }

    pub async fn load(path: &Path) -> Result<Self, RecordingError> {
        let disk = |cause| RecordingError::Io { path: path.to_owned(), cause };
        let content = |reason| RecordingError::Invalid { path: path.to_owned(), reason };
        let bytes = tokio::fs::read(path).await.map_err(disk)?;
        let read: Self =
            serde_json::from_slice(&bytes).map_err(|fault| content(fault.to_string()))?;
        if read.version > VERSION {
            return Err(content(format!("version {} is newer than {VERSION}", read.version)));
        }
        Ok(read)
    }

    /// Writes the recording atomically and returns its path.
    pub async fn save(&self, folder: &Path) -> Result<PathBuf, RecordingError> {
        let path = Self::path(folder, &self.purpose, &self.key);
        let disk = |cause| RecordingError::Io { path: path.clone(), cause };
        let mut value = serde_json::to_value(self).map_err(|fault| RecordingError::Invalid {
            path: path.clone(),
            reason: fault.to_string(),
        })?;
        // The key is a hash; the redaction would remove it because of the field's name.
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
