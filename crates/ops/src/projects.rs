//! Projects: containers for tasks, with one default project per user.

use cynode_domain::ids::{ProjectId, UserId};
use cynode_domain::name::{Slug, kept_spelling};
use cynode_runtime::clock::SharedClock;
use cynode_store::{Project, ProjectStore, Store, Tx};
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::projects::{CreateProject, ProjectView, UpdateProject};

use crate::paging::PageRequest;
use crate::secrets::WithoutSecrets as _;
use crate::{BadCursor, Caller};

const MAX_NAME_CHARS: usize = 100;
const MAX_DESCRIPTION_BYTES: usize = 64 * 1024;
/// How many numbered slugs are tried before giving up.
const SLUG_TRIES: u32 = 1000;

/// Why a project operation was refused.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// There is no such project, or the caller may not see it.
    #[error("there is no project \"{0}\"")]
    NotFound(String),
    /// The request breaks rules.
    #[error("{}", .0.join("; "))]
    Invalid(Vec<String>),
    /// The page asked for cannot be given.
    #[error(transparent)]
    Page(#[from] BadCursor),
    /// The database does not answer.
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

/// Projects. Cheap to clone.
#[derive(Clone)]
pub struct Projects {
    store: Store,
    clock: SharedClock,
}

impl Projects {
    /// Projects kept in `store`.
    pub fn new(store: Store, clock: SharedClock) -> Self {
        Self { store, clock }
    }

    /// Makes a project; its slug comes from its name, numbered if taken.
    pub async fn create(
        &self,
        caller: &Caller,
        request: CreateProject,
    ) -> Result<ProjectView, ProjectError> {
        let request = CreateProject {
            display_name: request.display_name.without_secrets(),
            description: request.description.without_secrets(),
        };
        let stem = check(&request.display_name, &request.description)?;
        if stem.as_str() == DEFAULT {
            let fault = "everybody's own project is called \"default\": choose another name";
            return Err(ProjectError::Invalid(vec![fault.to_owned()]));
        }
        let now = self.clock.now();
        let project = Project {
            id: ProjectId::generate(),
            slug: String::new(),
            display_name: request.display_name.trim().to_owned(),
            description: request.description,
            owner: caller.user,
            is_default: false,
            is_active: true,
            created_at: now,
            updated_at: now,
        };
        self.store.write(move |tx| Box::pin(insert_numbered(tx, project, stem))).await
    }

    /// A page of the projects the caller may see, newest first.
    pub async fn list(
        &self,
        caller: &Caller,
        query: &PageQuery,
    ) -> Result<Page<ProjectView>, ProjectError> {
        let request = PageRequest::<ProjectId>::check(query)?;
        let (owner, before, fetch) = (caller.own(), request.before, request.fetch);
        let projects = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    Ok::<_, ProjectError>(tx.project_list(owner, before, fetch).await?)
                })
            })
            .await?;
        Ok(request.page(projects, |project| project.id.to_string(), view))
    }

    /// A project, by id or slug.
    pub async fn get(&self, caller: &Caller, project: &str) -> Result<ProjectView, ProjectError> {
        let (caller, project) = (caller.clone(), project.to_owned());
        self.store
            .read(move |tx| Box::pin(async move { Ok(view(find(tx, &caller, &project).await?)) }))
            .await
    }

    /// Changes what the request names.
    pub async fn update(
        &self,
        caller: &Caller,
        project: &str,
        request: UpdateProject,
    ) -> Result<ProjectView, ProjectError> {
        let (caller, project, now) = (caller.clone(), project.to_owned(), self.clock.now());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let mut project = find(tx, &caller, &project).await?;
                    let display_name = request.display_name.without_secrets();
                    project.display_name = display_name.unwrap_or(project.display_name);
                    let description = request.description.without_secrets();
                    project.description = description.unwrap_or(project.description);
                    project.is_active = request.is_active.unwrap_or(project.is_active);
                    project.updated_at = now;
                    check(&project.display_name, &project.description)?;
                    project.display_name = project.display_name.trim().to_owned();
                    tx.project_update(&project).await?;
                    Ok(view(project))
                })
            })
            .await
    }
}

/// What everybody calls their own default project.
const DEFAULT: &str = "default";

/// The project that `wanted` names by id or slug, if the caller may see it; or the caller's default.
pub(crate) async fn find(
    tx: &mut Tx,
    caller: &Caller,
    wanted: &str,
) -> Result<Project, ProjectError> {
    let found = match wanted.parse::<ProjectId>() {
        Ok(id) => tx.project_get(id).await?,
        Err(_) if wanted.eq_ignore_ascii_case(DEFAULT) => {
            tx.project_default_of(caller.user).await?
        }
        Err(_) => tx.project_by_slug(&kept_spelling(wanted)).await?,
    };
    found
        .filter(|project| caller.may_see(project.owner))
        .ok_or_else(|| ProjectError::NotFound(wanted.chars().take(100).collect()))
}

/// The user's default project, made when first needed.
pub(crate) async fn default_of(
    tx: &mut Tx,
    owner: UserId,
    now: chrono::DateTime<chrono::Utc>,
) -> Result<Project, cynode_store::Error> {
    if let Some(project) = tx.project_default_of(owner).await? {
        return Ok(project);
    }
    let mut project = Project {
        id: ProjectId::generate(),
        slug: format!("default-{owner}"),
        display_name: "Default".to_owned(),
        description: String::new(),
        owner,
        is_default: true,
        is_active: true,
        created_at: now,
        updated_at: now,
    };
    while !tx.project_insert(&project).await? {
        // Somebody else may have made it at the same moment: theirs is the one then.
        if let Some(theirs) = tx.project_default_of(owner).await? {
            return Ok(theirs);
        }
        // Or another project was given this very slug.
        project.slug = format!("default-{}", project.id);
        project.id = ProjectId::generate();
    }
    Ok(project)
}

async fn insert_numbered(
    tx: &mut Tx,
    mut project: Project,
    stem: Slug,
) -> Result<ProjectView, ProjectError> {
    for number in 1..=SLUG_TRIES {
        stem.numbered(number).as_str().clone_into(&mut project.slug);
        if tx.project_insert(&project).await? {
            return Ok(view(project));
        }
    }
    let fault =
        format!("more than {SLUG_TRIES} projects are called \"{stem}\": choose another name");
    Err(ProjectError::Invalid(vec![fault]))
}

fn check(display_name: &str, description: &str) -> Result<Slug, ProjectError> {
    let mut faults = vec![];
    let slug = Slug::normalise(display_name).map_err(|error| faults.push(error.to_string()));
    if slug.as_ref().is_ok_and(|slug| slug.as_str().parse::<ProjectId>().is_ok()) {
        faults.push("display_name looks like an id: choose a name".to_owned());
    }
    if display_name.chars().any(char::is_control) {
        faults.push("display_name must not hold control characters".to_owned());
    }
    if description.contains('\0') {
        faults.push("description must not hold NUL characters".to_owned());
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

fn view(project: Project) -> ProjectView {
    ProjectView {
        id: project.id,
        slug: project.slug,
        display_name: project.display_name,
        description: project.description,
        is_default: project.is_default,
        is_active: project.is_active,
        created_at: project.created_at,
        updated_at: project.updated_at,
    }
}
