//! Projects: containers for tasks, with one default project per user.

mod active;
mod find;
mod repository;
mod validate;

use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::ids::{ProjectId, UserId};
use cynode_domain::name::Slug;
use cynode_domain::name_or_id::NameOrId;
use cynode_runtime::clock::SharedClock;
use cynode_store::{Project, Store, Tx};
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::projects::{
    CreateProject, MAX_DESCRIPTION_BYTES, MAX_NAME_CHARS, ProjectView, UpdateProject,
};

pub use self::active::require_active;
pub(crate) use self::find::DEFAULT_ALIAS;
use self::find::find_group_to_share_with;
pub use self::find::{find, find_shared, is_shared_with};
use self::repository::RepositoryChange;
pub use self::repository::find_task_repository;
use crate::paging::PageRequest;
use crate::profiles;
use crate::secrets::RedactSecrets as _;
use crate::{Caller, PageError};

/// Limit of numbered slugs to try.
const SLUG_TRIES: u32 = 1000;

/// Errors of project operations.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// There is no such project, or the caller may not see it.
    #[error("there is no project \"{0}\"")]
    NotFound(String),
    #[error("{}", .0.join("; "))]
    Invalid(Vec<String>),
    /// The project names no repository.
    #[error(
        "project \"{0}\" has no repository: name one with `--repo URL`, or set that of the project with `cynork project update {0} --repo URL`"
    )]
    NoRepository(String),
    #[error(transparent)]
    Page(#[from] PageError),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Classified for ProjectError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::NotFound(_) => Classification::new(ErrorClass::NotFound, self),
            Self::Invalid(faults) => Classification::invalid(self, faults),
            Self::NoRepository(_) => Classification::new(ErrorClass::Invalid, self),
            Self::Page(error) => error.classify(),
            Self::Store(error) => error.classify(),
        }
    }
}

/// Projects. Cheap to clone.
#[derive(Clone)]
pub struct Projects {
    store: Store,
    clock: SharedClock,
}

impl Projects {
    pub fn new(store: Store, clock: SharedClock) -> Self {
        Self { store, clock }
    }

    /// Creates a project; its slug is derived from its name, numbered if taken.
    pub async fn create(
        &self,
        caller: &Caller,
        request: CreateProject,
    ) -> Result<ProjectView, ProjectError> {
        let display_name = request.display_name.redact_secrets();
        let description = request.description.redact_secrets();
        let stem = validate_project(&display_name, &description)?;
        if stem.as_str() == DEFAULT_ALIAS {
            let fault =
                "the name \"default\" is reserved for your default project: choose another name";
            return Err(ProjectError::Invalid(vec![fault.to_owned()]));
        }
        let repository = RepositoryChange {
            url: request.repository_url,
            default_branch: request.default_branch,
            credential: request.credential,
        };
        let repository = repository.apply(None)?;
        let now = self.clock.now();
        let project = Project {
            id: ProjectId::generate(),
            slug: String::new(),
            display_name: display_name.trim().to_owned(),
            description,
            owner: caller.user,
            group: None,
            is_default: false,
            is_active: true,
            repository,
            created_at: now,
            updated_at: now,
        };
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let project = insert_numbered(tx, project, stem).await?;
                    load_view(tx, project).await
                })
            })
            .await
    }

    /// Lists the caller's projects and those that are shared with the caller, newest first; all for administrators.
    pub async fn list(
        &self,
        caller: &Caller,
        query: &PageQuery,
    ) -> Result<Page<ProjectView>, ProjectError> {
        let request = PageRequest::<ProjectId>::parse(query)?;
        let (reader, before, fetch) = (caller.own(), request.before, request.fetch);
        let projects = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let found = tx.project_list(reader, before, fetch).await?;
                    load_views(tx, found).await
                })
            })
            .await?;
        Ok(request.page(projects, |project| project.id.to_string(), |project| project))
    }

    /// Lists the caller's projects without those that are only shared with the caller; all for administrators.
    pub async fn list_own(
        &self,
        caller: &Caller,
        query: &PageQuery,
    ) -> Result<Page<ProjectView>, ProjectError> {
        let request = PageRequest::<ProjectId>::parse(query)?;
        let (owner, before, fetch) = (caller.own(), request.before, request.fetch);
        let projects = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let found = tx.project_list_owned(owner, before, fetch).await?;
                    load_views(tx, found).await
                })
            })
            .await?;
        Ok(request.page(projects, |project| project.id.to_string(), |project| project))
    }

    /// Returns a project by id or slug.
    pub async fn get(
        &self,
        caller: &Caller,
        project: &NameOrId<ProjectId>,
    ) -> Result<ProjectView, ProjectError> {
        let (caller, project) = (caller.clone(), project.to_owned());
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let project = find_shared(tx, &caller, &project).await?;
                    load_view(tx, project).await
                })
            })
            .await
    }

    /// Returns a project that is not only shared with the caller.
    pub async fn get_own(
        &self,
        caller: &Caller,
        project: &NameOrId<ProjectId>,
    ) -> Result<ProjectView, ProjectError> {
        let (caller, project) = (caller.clone(), project.to_owned());
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let project = find(tx, &caller, &project).await?;
                    load_view(tx, project).await
                })
            })
            .await
    }

    /// Updates the fields set in the request.
    pub async fn update(
        &self,
        caller: &Caller,
        project: &NameOrId<ProjectId>,
        request: UpdateProject,
    ) -> Result<ProjectView, ProjectError> {
        let (caller, project, now) = (caller.clone(), project.to_owned(), self.clock.now());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let found = find(tx, &caller, &project).await?.id;
                    // Read again under the lock: the row is written as a whole.
                    let locked = tx.project_lock(found).await?;
                    let mut project =
                        locked.ok_or_else(|| ProjectError::NotFound(project.excerpt()))?;
                    let display_name = request.display_name.redact_secrets();
                    project.display_name = display_name.unwrap_or(project.display_name);
                    let description = request.description.redact_secrets();
                    project.description = description.unwrap_or(project.description);
                    project.is_active = request.is_active.unwrap_or(project.is_active);
                    if let Some(group) = request.group {
                        project.group = find_group_to_share_with(tx, &caller, &group).await?;
                    }
                    let repository = RepositoryChange {
                        url: request.repository_url,
                        default_branch: request.default_branch,
                        credential: request.credential,
                    };
                    project.repository = repository.apply(project.repository)?;
                    project.updated_at = now;
                    validate_project(&project.display_name, &project.description)?;
                    project.display_name = project.display_name.trim().to_owned();
                    tx.project_update(&project).await?;
                    load_view(tx, project).await
                })
            })
            .await
    }
}

/// The user's default project, created on first use.
pub async fn load_or_create_default_project(
    tx: &mut Tx,
    owner: UserId,
    now: chrono::DateTime<chrono::Utc>,
) -> Result<Project, cynode_store::Error> {
    if let Some(project) = tx.project_default(owner).await? {
        return Ok(project);
    }
    let mut project = Project {
        id: ProjectId::generate(),
        slug: format!("default-{owner}"),
        display_name: "Default".to_owned(),
        description: String::new(),
        owner,
        group: None,
        is_default: true,
        is_active: true,
        repository: None,
        created_at: now,
        updated_at: now,
    };
    while !tx.project_insert(&project).await? {
        // A concurrent request may have created it: use that one.
        if let Some(theirs) = tx.project_default(owner).await? {
            return Ok(theirs);
        }
        // Or another project has this slug.
        project.slug = format!("default-{}", project.id);
        project.id = ProjectId::generate();
    }
    profiles::create_default(tx, &project).await?;
    Ok(project)
}

async fn insert_numbered(
    tx: &mut Tx,
    mut project: Project,
    stem: Slug,
) -> Result<Project, ProjectError> {
    for number in 1..=SLUG_TRIES {
        stem.numbered(number).as_str().clone_into(&mut project.slug);
        if tx.project_insert(&project).await? {
            profiles::create_default(tx, &project).await?;
            return Ok(project);
        }
    }
    let fault =
        format!("more than {SLUG_TRIES} projects are called \"{stem}\": choose another name");
    Err(ProjectError::Invalid(vec![fault]))
}

fn validate_project(display_name: &str, description: &str) -> Result<Slug, ProjectError> {
    let mut faults = vec![];
    let slug = Slug::normalise(display_name).map_err(|error| faults.push(error.to_string()));
    if slug.as_ref().is_ok_and(|slug| slug.as_str().parse::<ProjectId>().is_ok()) {
        faults.push("display_name looks like an id: choose a name".to_owned());
    }
    if display_name.chars().any(char::is_control) {
        faults.push("display_name must not contain control characters".to_owned());
    }
    if description.contains('\0') {
        faults.push("description must not contain NUL characters".to_owned());
    }
    if display_name.chars().count() > MAX_NAME_CHARS {
        faults.push(format!("display_name is longer than {MAX_NAME_CHARS} characters"));
    }
    if description.len() > MAX_DESCRIPTION_BYTES {
        faults.push(format!("description is longer than {MAX_DESCRIPTION_BYTES} bytes"));
    }
    match slug {
        Ok(slug) if faults.is_empty() => Ok(slug),
        _ => Err(ProjectError::Invalid(faults)),
    }
}

async fn load_view(tx: &mut Tx, project: Project) -> Result<ProjectView, ProjectError> {
    let id = project.id;
    let view = load_views(tx, vec![project]).await?.pop();
    view.ok_or_else(|| ProjectError::NotFound(id.to_string()))
}

/// The views of projects, with the names of their owners and groups.
async fn load_views(tx: &mut Tx, projects: Vec<Project>) -> Result<Vec<ProjectView>, ProjectError> {
    let ids: Vec<ProjectId> = projects.iter().map(|project| project.id).collect();
    let mut names = tx.project_names(&ids).await?;
    Ok(projects
        .into_iter()
        .map(|project| {
            let (owner, group) = names.remove(&project.id).unwrap_or_default();
            project_view(project, owner, group)
        })
        .collect())
}

fn project_view(project: Project, owner: String, group: Option<String>) -> ProjectView {
    let repository = project.repository;
    ProjectView {
        id: project.id,
        slug: project.slug,
        display_name: project.display_name,
        description: project.description,
        owner,
        group,
        repository_url: repository.as_ref().map(|repository| repository.url.clone()),
        default_branch: repository.as_ref().and_then(|it| it.default_branch.clone()),
        credential: repository.and_then(|repository| repository.credential),
        is_default: project.is_default,
        is_active: project.is_active,
        created_at: project.created_at,
        updated_at: project.updated_at,
    }
}
