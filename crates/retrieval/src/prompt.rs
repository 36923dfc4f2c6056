//! Passages for prompts: quoted data with citations, never instructions.

use cynode_domain::ids::{ProfileId, ProjectId};
use cynode_knowledge::rank::query_terms;
use cynode_knowledge::snippet::{citation, snippet};
use cynode_resources::profiles;
use cynode_store::Store;

use crate::AGENT_SOURCES;
use crate::backend::{BackendError, VectorBackend};

/// Bytes of a passage that a prompt quotes.
const QUOTED_BYTES: usize = 700;
/// Passages with a lower score are left out, because the room in a prompt is limited.
const MIN_SCORE: f64 = 0.2;

/// A passage as a prompt quotes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuotedPassage {
    /// `source/path:line`.
    pub citation: String,
    pub text: String,
    /// Whether an agent ingested it.
    pub is_unconfirmed: bool,
}

impl QuotedPassage {
    /// One entry of a list in a prompt.
    pub fn to_line(&self) -> String {
        let mark = if self.is_unconfirmed { " (by a model, unconfirmed)" } else { "" };
        format!("[{}]{mark} {}", self.citation, self.text)
    }
}

/// The passages of a profile that fit a text best; none if its agents may not read its knowledge. The default profile of
/// the project when `profile` is absent.
pub async fn find_for_prompt(
    store: &Store,
    backend: &dyn VectorBackend,
    project: ProjectId,
    profile: Option<ProfileId>,
    text: &str,
    limit: u32,
) -> Result<Vec<QuotedPassage>, BackendError> {
    let readable = store
        .read(move |tx| {
            Box::pin(async move {
                let found = profiles::load(tx, project, profile).await?;
                Ok::<_, cynode_store::Error>(found.filter(|found| found.spec.memory.readable))
            })
        })
        .await?;
    let Some(profile) = readable else { return Ok(vec![]) };
    let hits = backend.search(profile.id, text.to_owned(), limit).await?;
    let terms = query_terms(text);
    let fitting = hits.into_iter().filter(|hit| hit.score >= MIN_SCORE);
    Ok(fitting
        .map(|hit| {
            let (line, text) = snippet(&hit.text, hit.first_line, &terms, QUOTED_BYTES);
            QuotedPassage {
                citation: citation(&format!("{}/{}", hit.source, hit.path), line),
                text,
                is_unconfirmed: hit.source.starts_with(AGENT_SOURCES),
            }
        })
        .collect())
}
