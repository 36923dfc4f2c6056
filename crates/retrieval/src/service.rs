//! What people and agents do with the knowledge of a profile.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use async_trait::async_trait;
use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::ids::{ProfileId, ProjectId};
use cynode_domain::project_memory::MemoryAuthorKind;
use cynode_domain::trace::{TraceActor, TraceEntry, TraceEventKind, TraceField};
use cynode_domain::visible_text::is_shown;
use cynode_knowledge::snippet::citation;
use cynode_resources::PageError;
use cynode_resources::paging::PageRequest;
use cynode_resources::profile_access::{
    ProfileAccess, ProfileAccessError, ProfileOperation, ProfileSubject, create_default_project,
    open_profile, open_profile_for_reading,
};
use cynode_resources::project_excerpts::PassageSource;
use cynode_runtime::clock::SharedClock;
use cynode_runtime::trace_recorder::log_event;
use cynode_store::{DocumentSelection, KnowledgeDocument, KnowledgeSource, KnowledgeTotals, Store};
use cynode_wire::knowledge::{
    DeletedDocuments, DocumentView, IngestedDocument, IngestedDocuments, KnowledgeHit,
    KnowledgeHits, KnowledgeOverview, MAX_HITS, MAX_INGESTED, MAX_QUERY_BYTES, MAX_SOURCE_CHARS,
    SourceView,
};
use cynode_wire::page::{Page, PageQuery};

use crate::backend::{BackendError, NewDocument, SearchHit, VectorBackend};
use crate::ingest::{DocumentContent, Ingestion};
use crate::prompt::{QuotedPassage, find_for_prompt};

const DEFAULT_HITS: u32 = 5;
/// Sources of agents begin with this, so that no agent replaces or deletes what a person gave.
pub const AGENT_SOURCES: &str = "agent/";

/// Errors of operations on knowledge.
#[derive(Debug, thiserror::Error)]
pub enum KnowledgeError {
    #[error("{}", .0.join("; "))]
    Invalid(Vec<String>),
    #[error(transparent)]
    Access(#[from] ProfileAccessError),
    #[error(transparent)]
    Page(#[from] PageError),
    #[error(transparent)]
    Backend(#[from] BackendError),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Classified for KnowledgeError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::Invalid(faults) => Classification::invalid(self, faults),
            Self::Access(error) => error.classify(),
            Self::Page(error) => error.classify(),
            Self::Backend(BackendError::Store(error)) | Self::Store(error) => error.classify(),
            Self::Backend(BackendError::Quota(_)) => {
                Classification::new(ErrorClass::Conflict, self)
            }
            Self::Backend(BackendError::NoProfile) => {
                Classification::new(ErrorClass::NotFound, self)
            }
            Self::Backend(BackendError::Configuration(_)) => {
                Classification::new(ErrorClass::Unavailable, self)
            }
        }
    }
}

/// Knowledge. Cheap to clone.
#[derive(Clone)]
pub struct Knowledge {
    store: Store,
    backend: Arc<dyn VectorBackend>,
    clock: SharedClock,
}

impl Knowledge {
    pub fn new(store: Store, backend: Arc<dyn VectorBackend>, clock: SharedClock) -> Self {
        Self { store, backend, clock }
    }

    /// Validates the backend. Fails with a text that says what to do.
    pub async fn connect(&self) -> Result<(), BackendError> {
        self.backend.connect().await?;
        let connected = TraceEntry::new(TraceEventKind::BackendConnected)
            .with(TraceField::Backend, self.backend.name())
            .with(TraceField::BackendPurpose, "knowledge");
        log_event(None, TraceActor::Orchestrator, &connected);
        Ok(())
    }

    /// Ingests documents into a source. A fault of one is its result, and does not keep the others out.
    pub async fn ingest(
        &self,
        access: ProfileAccess,
        source: &str,
        documents: Vec<DocumentContent>,
    ) -> Result<IngestedDocuments, KnowledgeError> {
        let mut faults = source_faults(source);
        if !(1..=MAX_INGESTED).contains(&documents.len()) {
            faults.push(format!("documents must have 1 to {MAX_INGESTED} entries"));
        }
        if !faults.is_empty() {
            return Err(KnowledgeError::Invalid(faults));
        }
        let (source, author) = own_source(&access.subject, source)?;
        let created_by = access.caller.user;
        let profile = self.open_for_write(access).await?;
        let ingestion = Ingestion { source, author, created_by, now: self.clock.now() };
        let read = move || -> Vec<(String, Result<NewDocument, String>)> {
            let read =
                |document: DocumentContent| (document.path.clone(), ingestion.read(document));
            documents.into_iter().map(read).collect()
        };
        // Parsing and splitting are CPU bound.
        let read = tokio::task::spawn_blocking(read)
            .await
            .unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
        let readable = read.iter().filter_map(|(_, document)| document.as_ref().ok().cloned());
        let stored = self.backend.upsert(profile, readable.collect()).await?;
        let mut stored = stored.into_iter();
        let items = read.into_iter().map(|(path, document)| match document {
            Ok(_) => {
                let stored = stored.next();
                IngestedDocument {
                    path,
                    outcome: stored.map(|stored| stored.outcome),
                    passages: stored.map_or(0, |stored| stored.passages),
                    error: None,
                }
            }
            Err(error) => IngestedDocument { path, outcome: None, passages: 0, error: Some(error) },
        });
        Ok(IngestedDocuments { profile_id: profile, items: items.collect() })
    }

    /// Finds passages, the best first.
    pub async fn search(
        &self,
        access: ProfileAccess,
        query: &str,
        limit: Option<u32>,
    ) -> Result<KnowledgeHits, KnowledgeError> {
        let limit = limit.unwrap_or(DEFAULT_HITS);
        let mut faults = vec![];
        if !(1..=MAX_HITS).contains(&limit) {
            faults.push(format!("limit is {limit}; allowed is 1 to {MAX_HITS}"));
        }
        if query.len() > MAX_QUERY_BYTES {
            faults.push(format!("the query is longer than {MAX_QUERY_BYTES} bytes"));
        }
        if !faults.is_empty() {
            return Err(KnowledgeError::Invalid(faults));
        }
        let Some(profile) = self.open_for_read(access).await? else {
            return Ok(KnowledgeHits { items: vec![] });
        };
        let hits = self.backend.search(profile, query.to_owned(), limit).await?;
        Ok(KnowledgeHits { items: hits.into_iter().map(hit_view).collect() })
    }

    /// Lists documents by source and path.
    pub async fn list(
        &self,
        access: ProfileAccess,
        selection: DocumentSelection,
        page: &PageQuery,
    ) -> Result<Page<DocumentView>, KnowledgeError> {
        let request = PageRequest::<DocumentCursor>::parse(page)?;
        let after = request.before.clone().map(|DocumentCursor(source, path)| (source, path));
        let found = match self.open_for_read(access).await? {
            Some(profile) => self.backend.list(profile, selection, after, request.fetch).await?,
            None => vec![],
        };
        let cursor = |document: &KnowledgeDocument| {
            DocumentCursor(document.source.clone(), document.path.clone()).to_string()
        };
        Ok(request.page(found, cursor, document_view))
    }

    /// What a profile knows: its sources and totals.
    pub async fn overview(
        &self,
        access: ProfileAccess,
    ) -> Result<KnowledgeOverview, KnowledgeError> {
        let profile = self.open_for_read(access).await?;
        let (totals, sources) = match profile {
            Some(profile) => {
                (self.backend.totals(profile).await?, self.backend.sources(profile).await?)
            }
            None => (KnowledgeTotals::default(), vec![]),
        };
        Ok(KnowledgeOverview {
            profile_id: profile,
            backend: self.backend.name().to_owned(),
            documents: count(totals.documents),
            passages: count(totals.passages),
            bytes: count(totals.bytes),
            sources: sources.into_iter().map(source_view).collect(),
        })
    }

    /// Deletes documents. `all` must be true where neither a source nor a path is given.
    pub async fn delete(
        &self,
        access: ProfileAccess,
        selection: DocumentSelection,
        all: bool,
    ) -> Result<DeletedDocuments, KnowledgeError> {
        let is_all = selection.source.is_none() && selection.path.is_none();
        if is_all != all {
            let fault = "name a source or a path, or set `all` and neither of them";
            return Err(KnowledgeError::Invalid(vec![fault.to_owned()]));
        }
        let mut selection = selection;
        if let ProfileSubject::Agent { .. } = access.subject {
            let source = selection.source.as_deref().unwrap_or_default();
            selection.source = Some(own_source(&access.subject, source)?.0);
        }
        let profile = self.open_for_write(access).await?;
        let deleted = self.backend.delete(profile, selection).await?;
        Ok(DeletedDocuments { deleted })
    }

    /// The passages of a profile that fit a text best, for a prompt.
    pub async fn quote(
        &self,
        project: ProjectId,
        profile: Option<ProfileId>,
        text: &str,
        limit: u32,
    ) -> Result<Vec<QuotedPassage>, BackendError> {
        find_for_prompt(&self.store, &*self.backend, project, profile, text, limit).await
    }

    async fn open_for_read(
        &self,
        access: ProfileAccess,
    ) -> Result<Option<ProfileId>, KnowledgeError> {
        let profile = self.store.read(move |tx| {
            Box::pin(async move {
                let profile = open_profile_for_reading(tx, &access).await?;
                Ok::<_, ProfileAccessError>(profile.map(|profile| profile.id))
            })
        });
        Ok(profile.await?)
    }

    /// A default project and a default profile get their rows, to which documents refer.
    async fn open_for_write(&self, access: ProfileAccess) -> Result<ProfileId, KnowledgeError> {
        let now = self.clock.now();
        let profile = self.store.write(move |tx| {
            Box::pin(async move {
                create_default_project(tx, &access, now).await?;
                open_profile(tx, &access, ProfileOperation::Write).await.map(|profile| profile.id)
            })
        });
        Ok(profile.await?)
    }
}

#[async_trait]
impl PassageSource for Knowledge {
    async fn quote_passages(
        &self,
        project: ProjectId,
        profile: ProfileId,
        text: &str,
        limit: u32,
    ) -> Result<Vec<String>, Box<dyn std::error::Error + Send + Sync>> {
        let found = self.quote(project, Some(profile), text, limit).await?;
        Ok(found.iter().map(QuotedPassage::to_line).collect())
    }
}

/// The source that a caller's documents belong to, and their author.
fn own_source(
    subject: &ProfileSubject,
    source: &str,
) -> Result<(String, MemoryAuthorKind), KnowledgeError> {
    let is_of_agents = source.starts_with(AGENT_SOURCES);
    match subject {
        ProfileSubject::Person { .. } if is_of_agents => {
            let fault = format!(
                "sources that begin with {AGENT_SOURCES} are those of agents: choose another name"
            );
            Err(KnowledgeError::Invalid(vec![fault]))
        }
        ProfileSubject::Person { .. } => Ok((source.to_owned(), MemoryAuthorKind::Person)),
        ProfileSubject::Agent { .. } if is_of_agents => {
            Ok((source.to_owned(), MemoryAuthorKind::Model))
        }
        ProfileSubject::Agent { .. } => {
            Ok((format!("{AGENT_SOURCES}{source}"), MemoryAuthorKind::Model))
        }
    }
}

/// What is wrong with the name of a source. Prompts cite it, so every character must be shown to people too.
fn source_faults(source: &str) -> Vec<String> {
    let mut faults = vec![];
    if !(1..=MAX_SOURCE_CHARS).contains(&source.trim().chars().count()) {
        faults.push(format!("source must have 1 to {MAX_SOURCE_CHARS} characters"));
    }
    if source.trim() != source || source.chars().any(char::is_control) {
        faults.push(
            "source must be one line without control characters and surrounding spaces".to_owned(),
        );
    }
    if !source.chars().all(|letter| is_shown(letter) || letter.is_control()) {
        let fault = "source has invisible characters, such as marks of direction: type it again";
        faults.push(fault.to_owned());
    }
    faults
}

/// The source and path of the last document of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
struct DocumentCursor(String, String);

impl fmt::Display for DocumentCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(format!("{}\0{}", self.0, self.1)))
    }
}

impl FromStr for DocumentCursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let bytes = hex::decode(text).map_err(|_| ())?;
        let text = String::from_utf8(bytes).map_err(|_| ())?;
        let (source, path) = text.split_once('\0').ok_or(())?;
        if path.contains('\0') { Err(()) } else { Ok(Self(source.to_owned(), path.to_owned())) }
    }
}

fn count(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

fn source_view(source: KnowledgeSource) -> SourceView {
    SourceView {
        source: source.source,
        documents: count(source.documents),
        passages: count(source.passages),
        bytes: count(source.bytes),
        updated_at: source.updated_at,
    }
}

fn document_view(document: KnowledgeDocument) -> DocumentView {
    DocumentView {
        id: document.id,
        source: document.source,
        path: document.path,
        kind: document.kind,
        hash: document.hash,
        bytes: document.bytes,
        passages: document.passages,
        author: document.author,
        created_by: document.created_by,
        created_at: document.created_at,
        updated_at: document.updated_at,
    }
}

fn hit_view(hit: SearchHit) -> KnowledgeHit {
    KnowledgeHit {
        score: hit.score,
        citation: citation(&hit.path, hit.first_line),
        source: hit.source,
        path: hit.path,
        heading: hit.heading,
        first_line: hit.first_line,
        last_line: hit.last_line,
        text: hit.text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back_and_others_are_invalid() {
        let cursor = DocumentCursor("größe".to_owned(), "a/b".to_owned());

        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        for text in ["", "zz", "61", &hex::encode("a\0b\0c"), &hex::encode([0xff, 0])] {
            assert_eq!(text.parse::<DocumentCursor>(), Err(()), "{text}");
        }
    }
}
