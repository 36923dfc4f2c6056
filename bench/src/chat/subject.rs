//! What is measured: the model itself, and what stands in front of it.

use std::fs;

use anyhow::Context as _;
use cynode_testkit::provider::ScriptedProvider;
use serde_json::json;
use tempfile::TempDir;

use super::client::{Mode, Target};
use super::load::{self, Load};
use crate::gateway::peers::{Peer, SECRET, Seat, installed};
use crate::gateway::process::Program;
use crate::gateway::subject::{Orchestrator, Storage, put};

const MODEL: &str = "scripted-model";
/// More than the clients of any measurement, so that nobody waits for a turn.
const CONCURRENCY: u32 = 1000;

/// Something that the model can be asked through.
pub(super) struct Subject {
    pub(super) name: String,
    target: Target,
    // What must live as long: the process, and the directory of its data.
    program: Option<Program>,
    _directory: Option<TempDir>,
}

impl Subject {
    /// The model itself.
    pub(super) fn direct(provider: &ScriptedProvider) -> Self {
        let address = provider.url().trim_start_matches("http://").to_owned();
        let target = Target { address, token: "none".to_owned(), model: MODEL.to_owned() };
        Self { name: "direct".to_owned(), target, program: None, _directory: None }
    }

    /// So many clients that ask it.
    pub(super) fn load(&self, clients: usize, mode: Mode) -> Load<'_> {
        let process_id = self.program.as_ref().map(Program::id);
        Load { target: &self.target, clients, mode, process_id }
    }
}

/// A new orchestrator in front of the model.
pub(super) async fn orchestrator(
    provider: &ScriptedProvider,
    storage: &Storage,
) -> anyhow::Result<Subject> {
    let Orchestrator { program, directory, listens, admin } = Orchestrator::start(storage).await?;
    let row = json!({
        "kind": "openai", "base_url": provider.openai_url(), "allow": "everyone",
        "models": [MODEL], "concurrency": CONCURRENCY
    });
    put(&format!("http://{listens}/v1/model-providers/scripted"), &admin, &row).await?;
    let target = Target { address: listens, token: admin, model: format!("scripted/{MODEL}") };
    load::answers(&target).await?;
    let name = storage.name().replace("gateway", "orchestrator");
    Ok(Subject { name, target, program: Some(program), _directory: Some(directory) })
}

/// The proxy of `LiteLLM`: a master key, no database.
pub(super) async fn litellm(provider: &ScriptedProvider) -> anyhow::Result<Subject> {
    let (place, version) = installed(Peer::LiteLlm)?;
    let seat = Seat::new(place)?;
    let key = format!("sk-{SECRET}");
    let config = seat.path().join("config.yaml");
    let text = format!(
        "model_list:\n  - model_name: {MODEL}\n    litellm_params:\n      model: openai/{MODEL}\n      \
         api_base: {}\n      api_key: none\ngeneral_settings:\n  master_key: {key}\n",
        provider.openai_url()
    );
    fs::write(&config, text).context("cannot write its configuration")?;
    let mut command = seat.command("litellm/bin/litellm");
    command.args(["--host", "127.0.0.1", "--num_workers", "1", "--telemetry", "False"]);
    command.args(["--port", &seat.port.to_string(), "--config"]).arg(&config);
    // Otherwise it asks a forge for the prices of models.
    let program = seat.run(command.env("LITELLM_LOCAL_MODEL_COST_MAP", "True")).await?;
    let target = Target { address: seat.address(), token: key, model: MODEL.to_owned() };
    load::answers(&target).await?;
    let name = format!("LiteLLM {version}");
    Ok(Subject { name, target, program: Some(program), _directory: Some(seat.directory) })
}
