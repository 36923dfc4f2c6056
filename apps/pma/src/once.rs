//! One verification and the end: how the orchestrator starts an analyst.

use std::io::{self, Read as _, Write as _};
use std::time::Duration;

use anyhow::{Context as _, bail};
use cynode_agent::Agent;
use cynode_wire::handoff::{AgentRole, Handoff, HandoffKind, VerifyHandoff};
use tracing::Instrument as _;

use crate::serve::span;

/// Larger evidence is cut by whoever sends it.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// What standard input hands over. It is read before anything else is done.
pub(crate) fn read(role: AgentRole) -> anyhow::Result<Handoff<VerifyHandoff>> {
    if role != AgentRole::ProjectAnalyst {
        bail!("--once is for analysts: pass --role=project_analyst");
    }
    let mut text = vec![];
    io::stdin().lock().take(MAX_BYTES).read_to_end(&mut text).context("standard input failed")?;
    serde_json::from_slice(&text).context("the handoff on standard input cannot be read")
}

/// Verifies, and writes the answer to standard output.
pub(crate) async fn answer(
    agent: Agent,
    handoff: Handoff<VerifyHandoff>,
    within: Duration,
) -> anyhow::Result<()> {
    let span = span(HandoffKind::Analyse, &handoff.context);
    let answer = agent.analyse(&handoff, within).instrument(span).await?;
    let mut text = serde_json::to_vec(&answer)?;
    text.push(b'\n');
    io::stdout().write_all(&text).context("standard output is closed")
}
