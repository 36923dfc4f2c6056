//! Knowledge: documents that were given to a profile, and the passages that a search finds in them.
//!
//! Start at [`Knowledge`], which the edges call. A [`VectorBackend`] keeps passages and finds them; [`DatabaseBackend`] is the
//! one in the product's own database. `cynode-knowledge` splits and ranks documents.
//!
//! Invariants: no operation returns, counts, ranks by or deletes a document of another profile; a document is stored
//! with all its passages or not at all; a passage is data, and never an instruction.

mod backend;
mod database;
mod ingest;
mod prompt;
mod service;

pub use backend::{BackendError, IngestedPassages, NewDocument, SearchHit, VectorBackend};
pub use database::DatabaseBackend;
pub use ingest::DocumentContent;
pub use prompt::{QuotedPassage, find_for_prompt};
pub use service::{AGENT_SOURCES, Knowledge, KnowledgeError};

/// For callers of [`VectorBackend`].
pub use cynode_store::{DocumentSelection, KnowledgeDocument, KnowledgeSource, KnowledgeTotals};
