//! `profiles`: what the agents of a project may use.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use cynode_client::Client;
use cynode_wire::profiles::{CreateProfile, ProfileSpec, ProfileView, UpdateProfile};
use serde_json::json;

use crate::profile_args::ProjectArgs;
use crate::task::input::{InputPurpose, read_text};
use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::global_args::Format;
use cynode_cli::out::RenderContext;
use cynode_cli::{relative_time, table};

/// Define what the agents of a project may use.
#[derive(Debug, Subcommand)]
pub enum ProfilesCommand {
    /// List the profiles of a project.
    List {
        #[command(flatten)]
        scope: ProjectArgs,
    },
    /// Show a profile.
    Get {
        /// The profile, by name or id.
        #[arg(default_value = "default")]
        profile: String,
        #[command(flatten)]
        scope: ProjectArgs,
    },
    /// Add a profile.
    ///
    /// Example: `cynork profiles add web --tool 'project_memory.*' --tool 'artifact.*' --model fast --timeout 600`
    #[command(visible_alias = "create")]
    Add {
        /// Its name: lowercase letters, digits and dashes.
        name: String,
        #[command(flatten)]
        scope: ProjectArgs,
        #[command(flatten)]
        spec: ProfileSpecArgs,
    },
    /// Replace what a profile allows.
    Update {
        /// The profile, by name or id.
        profile: String,
        #[command(flatten)]
        scope: ProjectArgs,
        #[command(flatten)]
        spec: ProfileSpecArgs,
    },
    /// Delete a profile with its memory, and revoke the tokens of its agents.
    #[command(visible_alias = "remove")]
    Delete {
        /// The profile, by name or id.
        profile: String,
        #[command(flatten)]
        scope: ProjectArgs,
    },
}

/// What a profile allows. A flag that is not given restricts nothing.
#[derive(Debug, Args)]
pub struct ProfileSpecArgs {
    /// Read the whole spec from a JSON file; `-` is standard input.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["description", "tool", "host", "model", "timeout", "memory_mib", "budget_micros", "memory"])]
    file: Option<PathBuf>,
    /// What it is for.
    #[arg(long, default_value = "", hide_default_value = true)]
    description: String,
    /// A pattern of tools that agents may call; repeatable.
    #[arg(long, value_name = "PATTERN")]
    tool: Vec<String>,
    /// A host that sandboxes may connect to, if their agent profile allows it, and that tools may fetch from, if rules
    /// allow it; repeatable.
    #[arg(long, value_name = "HOST[:PORT]")]
    host: Vec<String>,
    /// A pattern of models that agents may call, by name or hint; repeatable.
    #[arg(long, value_name = "PATTERN")]
    model: Vec<String>,
    /// The longest time of a job, in seconds.
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u32>,
    /// The most memory of a job, in MiB.
    #[arg(long, value_name = "MIB")]
    memory_mib: Option<u32>,
    /// What the model calls of a run may cost, in millionths of a US dollar.
    #[arg(long, value_name = "MICROS")]
    budget_micros: Option<u64>,
    /// What agents may do with the memory and the knowledge of the project.
    #[arg(long, value_enum, default_value_t = ProjectMemoryAccess::Write, hide_default_value = true)]
    memory: ProjectMemoryAccess,
}

/// What agents may do with the memory and the knowledge of the project.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum ProjectMemoryAccess {
    /// Nothing.
    None,
    /// Read them.
    Read,
    /// Read and write them.
    Write,
}

impl ProfileSpecArgs {
    fn into_spec(self) -> Result<ProfileSpec, CliFailure> {
        if let Some(path) = &self.file {
            let text = read_text(path, InputPurpose::ProfileSpec)?;
            return serde_json::from_str(&text).map_err(|error| {
                CliFailure::Invalid(format!("{} is not a profile spec: {error}", path.display()))
            });
        }
        let list = |items: Vec<String>| (!items.is_empty()).then_some(items);
        let mut spec = ProfileSpec {
            description: self.description,
            tools: list(self.tool),
            hosts: list(self.host),
            models: list(self.model),
            ..ProfileSpec::default()
        };
        spec.limits.timeout_s = self.timeout;
        spec.limits.memory_mib = self.memory_mib;
        spec.limits.budget_micros = self.budget_micros;
        spec.memory.readable = !matches!(self.memory, ProjectMemoryAccess::None);
        spec.memory.writable = matches!(self.memory, ProjectMemoryAccess::Write);
        Ok(spec)
    }
}

pub(crate) async fn run(command: ProfilesCommand, app: &mut CliContext) -> Result<(), CliFailure> {
    match command {
        ProfilesCommand::List { scope } => {
            let call = async |client: &Client| client.profile_list(&scope.project).await;
            let all = app.session.call(call).await?;
            app.out.list(all, render)
        }
        ProfilesCommand::Get { profile, scope } => {
            let call = async |client: &Client| client.profile_get(&scope.project, &profile).await;
            let view = app.session.call(call).await?;
            app.out.show(&view, render_one)
        }
        ProfilesCommand::Add { name, scope, spec } => {
            let body = CreateProfile { name, spec: spec.into_spec()? };
            let call = async |client: &Client| client.profile_create(&scope.project, &body).await;
            let view = app.session.call(call).await?;
            app.out.show(&view, render_one)
        }
        ProfilesCommand::Update { profile, scope, spec } => {
            let body = UpdateProfile { spec: spec.into_spec()?, revision: None };
            let call = async |client: &Client| {
                client.profile_update(&scope.project, &profile, &body).await
            };
            let view = app.session.call(call).await?;
            app.out.show(&view, render_one)
        }
        ProfilesCommand::Delete { profile, scope } => {
            let call =
                async |client: &Client| client.profile_delete(&scope.project, &profile).await;
            app.session.call(call).await?;
            if app.out.format == Format::Json {
                app.out.print_json(&json!({"profile": profile, "deleted": true}))?;
            }
            app.out.print_message(&format!("profile {profile} deleted"));
            Ok(())
        }
    }
}

fn describe(items: Option<&[String]>) -> String {
    match items {
        None => "unrestricted".to_owned(),
        Some([]) => "none".to_owned(),
        Some(items) => items.join(", "),
    }
}

fn render_one(view: &ProfileView, ctx: RenderContext) -> String {
    let spec = &view.spec;
    let memory = match (spec.memory.readable, spec.memory.writable) {
        (true, true) => "read and write",
        (true, false) => "read",
        (false, _) => "none",
    };
    let pairs = [
        ("profile", Some(view.name.clone())),
        ("id", Some(view.id.to_string())),
        ("default", view.is_default.then(|| "yes".to_owned())),
        ("description", Some(spec.description.clone()).filter(|text| !text.is_empty())),
        ("tools", Some(describe(spec.tools.as_deref()))),
        ("hosts", Some(describe(spec.hosts.as_deref()))),
        ("models", Some(describe(spec.models.as_deref()))),
        ("timeout", spec.limits.timeout_s.map(|seconds| format!("{seconds} s"))),
        ("memory of jobs", spec.limits.memory_mib.map(|mib| format!("{mib} MiB"))),
        ("budget of a run", spec.limits.budget_micros.map(|micros| format!("{micros} micro-USD"))),
        ("project memory", Some(memory.to_owned())),
        ("revision", Some(view.revision.to_string())),
        ("changed", Some(relative_time::format_relative(ctx.now, view.updated_at))),
    ];
    table::render_pairs(&pairs, ctx)
}

fn render(all: &[ProfileView], ctx: RenderContext) -> String {
    let rows = all.iter().map(|view| {
        vec![
            view.name.clone(),
            if view.is_default { "yes" } else { "" }.to_owned(),
            describe(view.spec.tools.as_deref()),
            describe(view.spec.models.as_deref()),
            view.spec.description.clone(),
        ]
    });
    table::render_table(&["NAME", "DEFAULT", "TOOLS", "MODELS", "DESCRIPTION"], rows, ctx)
}
