//! Decisions: by rule where a rule decides, by a model where one must, and by a rule again where
//! the model does not help.

use std::path::PathBuf;
use std::time::Duration;

/// How the agent thinks.
#[derive(Debug, Clone, PartialEq)]
pub struct BrainOptions {
    /// How long one question to a model may take.
    pub timeout: Duration,
    /// How often a question is asked again that got no answer.
    pub max_retries: u32,
    /// How freely the model chooses, 0 to 2.
    pub temperature: f64,
    /// The most tokens of an answer.
    pub max_tokens: u64,
    /// How often a model may look at results of tools before it must answer.
    pub max_iterations: u32,
    /// Whether exchanges with models are recorded, or answered from records.
    pub cassette: CassetteMode,
}

impl Default for BrainOptions {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(60),
            max_retries: 1,
            temperature: 0.3,
            max_tokens: 4000,
            max_iterations: 8,
            cassette: CassetteMode::Off,
        }
    }
}

/// Whether exchanges with models are recorded, or answered from records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum CassetteMode {
    /// Neither.
    #[default]
    Off,
    /// Every exchange is written to this directory, one file each.
    Record(PathBuf),
    /// No model is asked: answers come from the files in this directory, or not at all.
    Replay(PathBuf),
}
