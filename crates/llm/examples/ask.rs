//! Asks a model and prints the answer as one line of JSON:
//! `cargo run -p cynode-llm --example ask -- --url http://127.0.0.1:8000/v1 --model smollm2 "Hello?"`.
//!
//! Works with every server that speaks one of the three APIs, including CyNode's orchestrator.

use std::error::Error;
use std::io::Write as _;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use cynode_llm::{ChunkCollector, ProviderCredential, ProviderEndpoint, ProviderKind, connect};
use cynode_llm_wire::openai::{ChatMessage, ChatRequest};
use futures_util::StreamExt as _;
use serde_json::{Value, json};

/// Ask a model.
#[derive(Parser)]
struct AskArguments {
    /// Address of the provider
    #[arg(long)]
    url: String,
    /// API of the provider
    #[arg(long, value_enum, default_value = "openai")]
    kind: AskProviderKind,
    /// File with the API key or token
    #[arg(long)]
    token_file: Option<PathBuf>,
    /// Name of the model
    #[arg(long)]
    model: Option<String>,
    /// Stream the answer
    #[arg(long)]
    stream: bool,
    /// Maximum length of the answer, in tokens
    #[arg(long, default_value_t = 32)]
    max_tokens: u64,
    /// The question; lists the models when absent
    prompt: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum AskProviderKind {
    Openai,
    Anthropic,
    Ollama,
}

impl AskArguments {
    async fn run(&self) -> Result<Value, Box<dyn Error>> {
        let kind = match self.kind {
            AskProviderKind::Openai => ProviderKind::OpenAi,
            AskProviderKind::Anthropic => ProviderKind::Anthropic,
            AskProviderKind::Ollama => ProviderKind::Ollama,
        };
        let provider = connect(&ProviderEndpoint::new(kind, self.url.clone()))?;
        let token = self.token_file.as_ref().map(std::fs::read_to_string).transpose()?;
        let secret = token.map(|token| ProviderCredential::from(token.trim()));
        let Some(prompt) = &self.prompt else {
            return Ok(json!({ "models": provider.models(secret.as_ref()).await? }));
        };
        let request = ChatRequest {
            model: self.model.clone(),
            messages: vec![ChatMessage::text("user", prompt.as_str())],
            max_tokens: Some(self.max_tokens),
            temperature: Some(0.0),
            ..ChatRequest::default()
        };
        if !self.stream {
            let answer = provider.chat(&request, secret.as_ref()).await?;
            return Ok(json!({ "text": answer.text(), "usage": answer.usage }));
        }
        let mut chunks = provider.stream(&request, secret.as_ref()).await?;
        let (mut collector, mut count) = (ChunkCollector::default(), 0);
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk?;
            count += usize::from(!chunk.text().is_empty());
            collector.push(&chunk);
        }
        let answer = collector.finish();
        Ok(json!({ "text": answer.text(), "pieces": count, "usage": answer.usage }))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let said = AskArguments::parse().run().await?;
    writeln!(std::io::stdout(), "{said}")?;
    Ok(())
}
