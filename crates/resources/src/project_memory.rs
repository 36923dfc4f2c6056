//! Project memory: decisions, conventions, failures and facts, across tasks, in one profile of a project.
//!
//! Start at [`ProjectMemory`]; [`open_profile`] decides which profile a call is about.
//!
//! Invariants: no operation returns, counts, ranks by or deletes an entry of another profile; the profile of an agent is
//! that of its token; what an agent wrote is marked, and only a person changes or removes what a person wrote.

mod rules;

use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::ids::{MemoryEntryId, ProfileId};
use cynode_domain::project_memory::{
    MAX_ENTRIES, MAX_QUERY_BYTES, MAX_TEXT_BYTES, MAX_TITLE_CHARS, MemoryAuthorKind, MemoryKind,
    MemorySource, rank_entries,
};
use cynode_runtime::clock::SharedClock;
use cynode_store::{MemoryEntry, Profile, Store, Tx};
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::project_memory::{
    AddMemoryEntry, MAX_MATCHES, MemoryEntryView, MemoryMatch, MemoryMatches, UpdateMemoryEntry,
};

pub use rules::{RuleMemory, record_by_rule};

use crate::PageError;
use crate::paging::PageRequest;
use crate::profile_access::{
    ProfileAccess, ProfileAccessError, ProfileOperation, ProfileSubject, create_default_project,
    open_profile, open_profile_for_reading,
};
use crate::secrets::RedactSecrets as _;

const DEFAULT_MATCHES: u32 = 10;

/// Errors of operations on the project memory.
#[derive(Debug, thiserror::Error)]
pub enum ProjectMemoryError {
    #[error("there is no entry {0} in this memory; run `cynork memory list`")]
    NotFound(MemoryEntryId),
    #[error("{0}")]
    Forbidden(String),
    #[error("{0}")]
    Conflict(String),
    #[error("{}", .0.join("; "))]
    Invalid(Vec<String>),
    #[error(transparent)]
    Access(#[from] ProfileAccessError),
    #[error(transparent)]
    Page(#[from] PageError),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Classified for ProjectMemoryError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::NotFound(_) => Classification::new(ErrorClass::NotFound, self),
            Self::Forbidden(_) => Classification::new(ErrorClass::Forbidden, self),
            Self::Conflict(_) => Classification::new(ErrorClass::Conflict, self),
            Self::Invalid(faults) => Classification::invalid(self, faults),
            Self::Access(error) => error.classify(),
            Self::Page(error) => error.classify(),
            Self::Store(error) => error.classify(),
        }
    }
}

/// Project memory. Cheap to clone.
#[derive(Clone)]
pub struct ProjectMemory {
    store: Store,
    clock: SharedClock,
}

impl ProjectMemory {
    pub fn new(store: Store, clock: SharedClock) -> Self {
        Self { store, clock }
    }

    /// Adds an entry. A full memory refuses it: nothing is evicted.
    pub async fn add(
        &self,
        access: ProfileAccess,
        request: AddMemoryEntry,
    ) -> Result<MemoryEntryView, ProjectMemoryError> {
        let title = request.title.redact_secrets();
        let text = request.text.redact_secrets();
        require_valid(&title, &text)?;
        let (kind, now) = (request.kind, self.clock.now());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    create_default_project(tx, &access, now).await?;
                    let profile = open_profile(tx, &access, ProfileOperation::Write).await?;
                    // Concurrent additions are counted one after the other.
                    tx.profile_lock(profile.id).await?;
                    if tx.memory_count(profile.id).await? >= MAX_ENTRIES {
                        return Err(full(&profile));
                    }
                    let (author, source) = match access.subject {
                        ProfileSubject::Person { .. } => {
                            (MemoryAuthorKind::Person, MemorySource::default())
                        }
                        ProfileSubject::Agent { source, .. } => (MemoryAuthorKind::Model, source),
                    };
                    let entry = MemoryEntry {
                        id: MemoryEntryId::generate(),
                        project: profile.project,
                        profile: profile.id,
                        kind,
                        title: title.trim().to_owned(),
                        text,
                        author,
                        author_id: access.caller.user,
                        source,
                        rule_key: None,
                        revision: 1,
                        created_at: now,
                        updated_at: now,
                    };
                    tx.memory_insert(&entry).await?;
                    Ok(entry_view(entry))
                })
            })
            .await
    }

    /// Lists entries, newest first.
    pub async fn list(
        &self,
        access: ProfileAccess,
        kind: Option<MemoryKind>,
        page: &PageQuery,
    ) -> Result<Page<MemoryEntryView>, ProjectMemoryError> {
        let request = PageRequest::<MemoryEntryId>::parse(page)?;
        let (before, fetch) = (request.before, request.fetch);
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let Some(profile) = open_profile_for_reading(tx, &access).await? else {
                        return Ok(vec![]);
                    };
                    Ok::<_, ProjectMemoryError>(
                        tx.memory_list(profile.id, kind, before, fetch).await?,
                    )
                })
            })
            .await?;
        Ok(request.page(found, |entry| entry.id.to_string(), entry_view))
    }

    pub async fn get(
        &self,
        access: ProfileAccess,
        id: MemoryEntryId,
    ) -> Result<MemoryEntryView, ProjectMemoryError> {
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let profile = open_profile_for_reading(tx, &access).await?;
                    let profile = profile.ok_or(ProjectMemoryError::NotFound(id))?;
                    find_entry(tx, profile.id, id).await.map(entry_view)
                })
            })
            .await
    }

    /// Finds the entries that have a word of the query, the best first.
    pub async fn search(
        &self,
        access: ProfileAccess,
        query: &str,
        limit: Option<u32>,
    ) -> Result<MemoryMatches, ProjectMemoryError> {
        let limit = limit.unwrap_or(DEFAULT_MATCHES);
        let mut faults = vec![];
        if !(1..=MAX_MATCHES).contains(&limit) {
            faults.push(format!("limit is {limit}; allowed is 1 to {MAX_MATCHES}"));
        }
        if query.len() > MAX_QUERY_BYTES {
            faults.push(format!("the query is longer than {MAX_QUERY_BYTES} bytes"));
        }
        if !faults.is_empty() {
            return Err(ProjectMemoryError::Invalid(faults));
        }
        let entries = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let Some(profile) = open_profile_for_reading(tx, &access).await? else {
                        return Ok(vec![]);
                    };
                    Ok::<_, ProjectMemoryError>(tx.memory_list_all(profile.id).await?)
                })
            })
            .await?;
        let found = rank(query, entries, limit);
        let view = |(entry, score)| MemoryMatch { score, entry: entry_view(entry) };
        Ok(MemoryMatches { items: found.into_iter().map(view).collect() })
    }

    /// Changes an entry. Only people do.
    pub async fn update(
        &self,
        access: ProfileAccess,
        id: MemoryEntryId,
        request: UpdateMemoryEntry,
    ) -> Result<MemoryEntryView, ProjectMemoryError> {
        if let ProfileSubject::Agent { .. } = access.subject {
            let fault = "only people change entries of the project memory";
            return Err(ProjectMemoryError::Forbidden(fault.to_owned()));
        }
        let (title, text) = (request.title.redact_secrets(), request.text.redact_secrets());
        let (kind, promote, revision) = (request.kind, request.promote, request.revision);
        let now = self.clock.now();
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let profile = open_profile(tx, &access, ProfileOperation::Write).await?;
                    let found = find_entry(tx, profile.id, id).await?;
                    if revision.is_some_and(|revision| revision != found.revision) {
                        return Err(changed());
                    }
                    let is_taken_over = promote || text.is_some();
                    let mut next = MemoryEntry {
                        kind: kind.unwrap_or(found.kind),
                        title: title.map_or(found.title, |title| title.trim().to_owned()),
                        text: text.unwrap_or(found.text),
                        revision: found.revision + 1,
                        updated_at: now,
                        ..found
                    };
                    if is_taken_over {
                        next.author = MemoryAuthorKind::Person;
                        next.author_id = access.caller.user;
                    }
                    require_valid(&next.title, &next.text)?;
                    if tx.memory_update(&next).await? {
                        Ok(entry_view(next))
                    } else {
                        Err(changed())
                    }
                })
            })
            .await
    }

    /// Deletes an entry. Agents delete what agents wrote.
    pub async fn delete(
        &self,
        access: ProfileAccess,
        id: MemoryEntryId,
    ) -> Result<(), ProjectMemoryError> {
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let profile = open_profile(tx, &access, ProfileOperation::Write).await?;
                    let found = find_entry(tx, profile.id, id).await?;
                    let is_agent = matches!(access.subject, ProfileSubject::Agent { .. });
                    if is_agent && found.author != MemoryAuthorKind::Model {
                        let author = found.author;
                        let fault = format!("an agent cannot delete an entry of a {author}");
                        return Err(ProjectMemoryError::Forbidden(fault));
                    }
                    if tx.memory_delete(profile.id, id, found.revision).await? {
                        Ok(())
                    } else {
                        Err(changed())
                    }
                })
            })
            .await
    }
}

async fn find_entry(
    tx: &mut Tx,
    profile: ProfileId,
    id: MemoryEntryId,
) -> Result<MemoryEntry, ProjectMemoryError> {
    tx.memory_get(profile, id).await?.ok_or(ProjectMemoryError::NotFound(id))
}

/// The best entries of one profile for a query, with their scores.
pub(crate) fn rank(query: &str, entries: Vec<MemoryEntry>, limit: u32) -> Vec<(MemoryEntry, f64)> {
    let texts: Vec<(&str, &str)> =
        entries.iter().map(|entry| (entry.title.as_str(), entry.text.as_str())).collect();
    let ranked = rank_entries(query, &texts);
    let mut entries: Vec<Option<MemoryEntry>> = entries.into_iter().map(Some).collect();
    let take = ranked.into_iter().take(usize::try_from(limit).unwrap_or(usize::MAX));
    take.filter_map(|found| Some((entries.get_mut(found.index)?.take()?, found.score))).collect()
}

fn require_valid(title: &str, text: &str) -> Result<(), ProjectMemoryError> {
    let mut faults = vec![];
    let chars = title.trim().chars().count();
    if !(1..=MAX_TITLE_CHARS).contains(&chars) {
        faults.push(format!("title must have 1 to {MAX_TITLE_CHARS} characters"));
    }
    if title.chars().any(char::is_control) {
        faults.push("title must be one line without control characters".to_owned());
    }
    if text.len() > MAX_TEXT_BYTES {
        faults.push(format!("text is longer than {MAX_TEXT_BYTES} bytes"));
    }
    if text.contains('\0') {
        faults.push("text must not contain NUL characters".to_owned());
    }
    if faults.is_empty() { Ok(()) } else { Err(ProjectMemoryError::Invalid(faults)) }
}

fn full(profile: &Profile) -> ProjectMemoryError {
    let name = &profile.name;
    ProjectMemoryError::Conflict(format!(
        "the memory of the profile \"{name}\" has {MAX_ENTRIES} entries, which is the limit: delete some with \
         `cynork memory delete`"
    ))
}

fn changed() -> ProjectMemoryError {
    ProjectMemoryError::Conflict("the entry was changed meanwhile: read it again".to_owned())
}

fn entry_view(entry: MemoryEntry) -> MemoryEntryView {
    MemoryEntryView {
        id: entry.id,
        project_id: entry.project,
        profile_id: entry.profile,
        kind: entry.kind,
        title: entry.title,
        text: entry.text,
        author: entry.author,
        author_id: entry.author_id,
        source: entry.source,
        revision: entry.revision,
        created_at: entry.created_at,
        updated_at: entry.updated_at,
    }
}
