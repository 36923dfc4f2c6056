//! The subjects: the model itself, and the proxies in front of it.

use std::fs;

use anyhow::Context as _;
use cynode_testkit::provider::ScriptedProvider;
use serde_json::json;
use tempfile::TempDir;

use super::client::{ChatTarget, ResponseMode};
use super::load::{self, ChatLoad};
use crate::gateway::peers::{PeerEnvironment, PeerGateway, SECRET, find_installation};
use crate::gateway::process::BenchProcess;
use crate::gateway::subject::{BenchOrchestrator, DatabaseKind, put_json};

const MODEL: &str = "scripted-model";
/// More than the clients of any measurement, so no request is queued.
const CONCURRENCY: u32 = 1000;

/// An endpoint that reaches the model.
pub(super) struct ChatSubject {
    pub(super) name: String,
    target: ChatTarget,
    // Kept alive for as long as the subject: the process, and its data directory.
    program: Option<BenchProcess>,
    _directory: Option<TempDir>,
}

impl ChatSubject {
    /// The model itself.
    pub(super) fn direct(provider: &ScriptedProvider) -> Self {
        let address = provider.url().trim_start_matches("http://").to_owned();
        let target = ChatTarget { address, token: "none".to_owned(), model: MODEL.to_owned() };
        Self { name: "direct".to_owned(), target, program: None, _directory: None }
    }

    /// A load of this many clients on the subject.
    pub(super) fn load(&self, clients: usize, mode: ResponseMode) -> ChatLoad<'_> {
        let process_id = self.program.as_ref().map(BenchProcess::id);
        ChatLoad { target: &self.target, clients, mode, process_id }
    }
}

/// A new orchestrator in front of the model.
pub(super) async fn start_orchestrator(
    provider: &ScriptedProvider,
    storage: &DatabaseKind,
) -> anyhow::Result<ChatSubject> {
    let BenchOrchestrator { program, directory, address: listens, admin_token: admin } =
        BenchOrchestrator::start(storage).await?;
    let row = json!({
        "kind": "openai", "base_url": provider.openai_url(), "allow": "everyone",
        "models": [MODEL], "concurrency": CONCURRENCY
    });
    put_json(&format!("http://{listens}/v1/model-providers/scripted"), &admin, &row).await?;
    let target = ChatTarget { address: listens, token: admin, model: format!("scripted/{MODEL}") };
    load::wait_until_answering(&target).await?;
    let name = storage.name().replace("gateway", "orchestrator");
    Ok(ChatSubject { name, target, program: Some(program), _directory: Some(directory) })
}

/// The proxy of `LiteLLM`: a master key, no database.
pub(super) async fn start_litellm(provider: &ScriptedProvider) -> anyhow::Result<ChatSubject> {
    let (dir, version) = find_installation(PeerGateway::LiteLlm)?;
    let environment = PeerEnvironment::new(dir)?;
    let key = format!("sk-{SECRET}");
    let config = environment.path().join("config.yaml");
    let text = format!(
        "model_list:\n  - model_name: {MODEL}\n    litellm_params:\n      model: openai/{MODEL}\n      \
         api_base: {}\n      api_key: none\ngeneral_settings:\n  master_key: {key}\n",
        provider.openai_url()
    );
    fs::write(&config, text).context("cannot write its configuration")?;
    let mut command = environment.command("litellm/bin/litellm");
    command.args(["--host", "127.0.0.1", "--num_workers", "1", "--telemetry", "False"]);
    command.args(["--port", &environment.port.to_string(), "--config"]).arg(&config);
    // Otherwise it downloads model prices.
    let program =
        environment.start_and_wait(command.env("LITELLM_LOCAL_MODEL_COST_MAP", "True")).await?;
    let target = ChatTarget { address: environment.address(), token: key, model: MODEL.to_owned() };
    load::wait_until_answering(&target).await?;
    let name = format!("LiteLLM {version}");
    Ok(ChatSubject {
        name,
        target,
        program: Some(program),
        _directory: Some(environment.directory),
    })
}
