//! Answers one verification and exits: how the orchestrator runs an analyst.

use std::io::{self, Read as _, Write as _};
use std::time::Duration;

use anyhow::{Context as _, bail};
use cynode_agent::{HandoffAgent, HandoffAgentError};
use cynode_wire::handoff::{AgentRole, Handoff, HandoffKind, VerifyHandoff};
use tracing::Instrument as _;

use crate::serve::{handoff_span, open_agent_span};

/// The orchestrator truncates larger evidence.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// Reads the handoff from standard input.
pub(crate) fn read_handoff(role: AgentRole) -> anyhow::Result<Handoff<VerifyHandoff>> {
    if role != AgentRole::ProjectAnalyst {
        bail!("--once is for analysts: pass --role=project_analyst");
    }
    let mut text = vec![];
    io::stdin()
        .lock()
        .take(MAX_BYTES)
        .read_to_end(&mut text)
        .context("cannot read standard input")?;
    serde_json::from_slice(&text).context("invalid handoff on standard input")
}

/// Runs the verification and writes the answer to standard output.
pub(crate) async fn run_once(
    agent: HandoffAgent,
    handoff: Handoff<VerifyHandoff>,
    timeout: Duration,
) -> anyhow::Result<()> {
    let span = handoff_span(HandoffKind::Analyse, &handoff.context);
    let invoked = span.in_scope(|| open_agent_span(agent.role(), &handoff.context));
    let answer = agent.analyse(&handoff, timeout).instrument(invoked.span()).instrument(span).await;
    invoked.finish(answer.as_ref().err().map(HandoffAgentError::kind));
    let answer = answer?;
    let mut text = serde_json::to_vec(&answer)?;
    text.push(b'\n');
    io::stdout().write_all(&text).context("standard output is closed")
}
