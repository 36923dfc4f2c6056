//! `project`: groups of tasks.

use clap::{ArgGroup, Args, Subcommand};
use cynode_domain::ids::ProjectId;
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::projects::{CreateProject, ProjectView, UpdateProject};

use crate::task::repository_args::absolute_address;
use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::out::RenderContext;
use cynode_cli::{relative_time, table};

/// Group tasks into projects.
#[derive(Debug, Subcommand)]
pub enum ProjectCommand {
    /// Create a project.
    Create {
        /// The display name; the slug is derived from it.
        name: String,
        /// The description.
        #[arg(long, default_value = "")]
        description: String,
        #[command(flatten)]
        repository: ProjectRepositoryArgs,
    },
    /// List your projects and those that are shared with you.
    List(ProjectListArgs),
    /// Show one project.
    Get {
        /// The project, by slug or id.
        project: String,
    },
    /// Update a project.
    Update(ProjectUpdateArgs),
}

/// Paging arguments.
#[derive(Debug, Args)]
pub struct ProjectListArgs {
    /// Page size, 1 to 200.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: Option<u32>,
    /// Continue after the previous page.
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

/// The repository of a project.
#[derive(Debug, Args)]
pub struct ProjectRepositoryArgs {
    /// The git repository of its tasks: a URL, user@host:path, or a path on a worker node; "" for none.
    #[arg(long, value_name = "URL|PATH")]
    repo: Option<String>,
    /// The branch that tasks start from; "" for the repository's default branch.
    #[arg(long, value_name = "BRANCH")]
    default_branch: Option<String>,
    /// The name of the credential for the host of the repository (`cynork creds list`); "" for the first one of each user.
    #[arg(long, value_name = "NAME")]
    credential: Option<String>,
}

/// Arguments of `project update`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("change").required(true).multiple(true).args(["name", "description", "active", "group", "repo", "default_branch", "credential"])))]
pub struct ProjectUpdateArgs {
    /// The project, by slug or id.
    project: String,
    /// The new display name; the slug does not change.
    #[arg(long)]
    name: Option<String>,
    /// The new description.
    #[arg(long)]
    description: Option<String>,
    /// Whether the project accepts new tasks.
    #[arg(long, value_name = "true|false")]
    active: Option<bool>,
    /// The group whose members see its tasks and requests and answer their questions; "" for none.
    #[arg(long)]
    group: Option<String>,
    #[command(flatten)]
    repository: ProjectRepositoryArgs,
}

impl ProjectRepositoryArgs {
    /// The address, where a relative path is made absolute.
    fn url(&mut self) -> Result<Option<String>, CliFailure> {
        self.repo.take().map(absolute_address).transpose()
    }
}

pub(crate) async fn run(command: ProjectCommand, app: &mut CliContext) -> Result<(), CliFailure> {
    match command {
        ProjectCommand::Create { name, description, mut repository } => {
            let body = CreateProject {
                display_name: name,
                description,
                repository_url: repository.url()?,
                default_branch: repository.default_branch,
                credential: repository.credential,
            };
            let made = app.session.call(async |client| client.project_create(&body).await).await?;
            app.out.show(&made, render)
        }
        ProjectCommand::List(page) => list(page, app).await,
        ProjectCommand::Get { project } => {
            let view = app.session.call(async |client| client.project_get(&project).await).await?;
            app.out.show(&view, render)
        }
        ProjectCommand::Update(args) => update(args, app).await,
    }
}

async fn list(page: ProjectListArgs, app: &mut CliContext) -> Result<(), CliFailure> {
    let query = PageQuery { limit: page.limit, cursor: page.cursor };
    let page = app.session.call(async |client| client.project_list(&query).await).await?;
    app.out.show(&page, render_page)?;
    if let Some(cursor) = &page.next_cursor {
        app.out.print_message(&format!("more results: add --cursor {cursor}"));
    }
    Ok(())
}

async fn update(args: ProjectUpdateArgs, app: &mut CliContext) -> Result<(), CliFailure> {
    let ProjectUpdateArgs { project, name, description, active, group, mut repository } = args;
    let body = UpdateProject {
        display_name: name,
        description,
        is_active: active,
        group,
        repository_url: repository.url()?,
        default_branch: repository.default_branch,
        credential: repository.credential,
    };
    let view =
        app.session.call(async |client| client.project_update(&project, &body).await).await?;
    app.out.show(&view, render)
}

/// Resolves a project, by slug or id.
pub(crate) async fn resolve_id(
    app: &mut CliContext,
    project: &str,
) -> Result<ProjectId, CliFailure> {
    if let Ok(id) = project.parse() {
        return Ok(id);
    }
    Ok(app.session.call(async |client| client.project_get(project).await).await?.id)
}

fn render(project: &ProjectView, ctx: RenderContext) -> String {
    let pairs = [
        ("project", Some(project.slug.clone())),
        ("name", Some(project.display_name.clone())),
        ("description", Some(project.description.clone())),
        ("owner", Some(project.owner.clone())),
        ("shared with", project.group.clone()),
        ("repository", project.repository_url.as_ref().map(ToString::to_string)),
        ("default branch", project.default_branch.as_ref().map(ToString::to_string)),
        ("credential", project.credential.clone()),
        ("accepts tasks", Some(format_accepts_tasks(project).to_owned())),
        ("created", Some(relative_time::format_relative(ctx.now, project.created_at))),
        ("changed", Some(relative_time::format_relative(ctx.now, project.updated_at))),
        ("id", Some(project.id.to_string())),
    ];
    table::render_pairs(&pairs, ctx)
}

fn render_page(page: &Page<ProjectView>, ctx: RenderContext) -> String {
    let rows = page.items.iter().map(|project| {
        vec![
            project.slug.clone(),
            table::truncate(&project.display_name, 40),
            project.owner.clone(),
            project.group.clone().unwrap_or_default(),
            format_accepts_tasks(project).to_owned(),
            relative_time::format_relative(ctx.now, project.created_at),
        ]
    });
    table::render_table(
        &["PROJECT", "NAME", "OWNER", "SHARED WITH", "ACCEPTS TASKS", "CREATED"],
        rows,
        ctx,
    )
}

fn format_accepts_tasks(project: &ProjectView) -> &'static str {
    match (project.is_active, project.is_default) {
        (true, true) => "yes (default project)",
        (true, false) => "yes",
        (false, _) => "no",
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta};
    use clap::Parser as _;

    use super::*;
    use crate::Cli;

    #[test]
    fn projects_are_listed_with_the_default_one_marked() {
        let project = ProjectView {
            id: ProjectId::from(uuid::Uuid::from_u128(7)),
            slug: "default".to_owned(),
            display_name: "Default".to_owned(),
            description: String::new(),
            owner: "ada".to_owned(),
            group: Some("web-team".to_owned()),
            repository_url: Some("https://git.example.com/shop".to_owned().try_into().unwrap()),
            default_branch: Some("main".parse().unwrap()),
            credential: Some("deploy".to_owned()),
            is_default: true,
            is_active: true,
            created_at: DateTime::UNIX_EPOCH,
            updated_at: DateTime::UNIX_EPOCH,
        };
        let ctx = RenderContext { now: DateTime::UNIX_EPOCH + TimeDelta::hours(3), width: None };
        let page = Page { items: vec![project.clone()], next_cursor: None };

        insta::assert_snapshot!(render_page(&page, ctx));
        insta::assert_snapshot!(render(&project, ctx));
    }

    #[test]
    fn a_project_update_must_change_something() {
        assert!(Cli::try_parse_from(["cynork", "project", "update", "web"]).is_err());
        assert!(
            Cli::try_parse_from(["cynork", "project", "update", "web", "--active", "false"])
                .is_ok()
        );
    }
}
