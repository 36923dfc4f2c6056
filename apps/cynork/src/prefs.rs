//! `prefs`: preferences, by scope.

use clap::{Args, Subcommand};
use cynode_domain::config_keys::ConfigKeyKind;
use cynode_domain::preference::ScopeKind;
use cynode_wire::page::{MAX_LIMIT, Page, PageQuery};
use cynode_wire::preferences::{
    EffectiveQuery, EffectiveView, PreferenceChangesQuery, PreferenceQuery, PreferenceScope,
    PreferenceView, PutPreference,
};
use serde_json::{Value, json};

use crate::{project, task};
use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::global_args::Format;
use cynode_cli::history::HistoryPageArgs;
use cynode_cli::out::RenderContext;
use cynode_cli::{history, relative_time, table};
use cynode_cli_admin::{groups, known_keys};

/// Preference key that selects the worker node of a task.
const NODE_KEY: &str = "agents.project_manager.placement.node";

/// Manage preferences, by scope. Precedence: task, project, user, group, system.
#[derive(Debug, Subcommand)]
pub enum PrefsCommand {
    /// List the preferences of one scope; with --known, the keys that can be set.
    List {
        /// List the keys that CyNode reads and their allowed values.
        #[arg(long)]
        known: bool,
        #[command(flatten)]
        scope: PreferenceScopeArgs,
        /// Only keys with this prefix.
        #[arg(long, default_value = "")]
        prefix: String,
    },
    /// Show one preference.
    Get {
        /// The key.
        key: String,
        #[command(flatten)]
        scope: PreferenceScopeArgs,
    },
    /// Set a preference.
    ///
    /// Example: `cynork prefs set agents.project_manager.model_routing.prefer_local true`
    Set {
        /// The key.
        key: String,
        /// The value: JSON, otherwise text. null hides the value of weaker scopes.
        #[arg(allow_hyphen_values = true)]
        value: String,
        #[command(flatten)]
        scope: PreferenceScopeArgs,
        /// The reason, for the change history.
        #[arg(long)]
        reason: Option<String>,
    },
    /// Remove a preference, so that weaker scopes apply again.
    #[command(visible_aliases = ["remove", "delete"])]
    Unset {
        /// The key.
        key: String,
        #[command(flatten)]
        scope: PreferenceScopeArgs,
    },
    /// Show who changed a preference, newest first.
    History {
        /// The key.
        key: String,
        #[command(flatten)]
        scope: PreferenceScopeArgs,
        #[command(flatten)]
        page: HistoryPageArgs,
    },
    /// Show the effective values and the scope each comes from.
    Effective {
        /// For this task, by name or id.
        #[arg(long, value_name = "TASK", conflicts_with = "project")]
        task: Option<String>,
        /// For this project, by slug or id.
        #[arg(long, value_name = "PROJECT")]
        project: Option<String>,
    },
}

/// Scope of a preference [default: your own].
#[derive(Debug, Clone, Default, Args)]
#[group(multiple = false)]
pub struct PreferenceScopeArgs {
    /// System scope: applies to all users.
    #[arg(long)]
    system: bool,
    /// Group scope, by name or id. Members read it, administrators write it.
    #[arg(long = "group", value_name = "GROUP")]
    of_group: Option<String>,
    /// Project scope, by slug or id.
    #[arg(long = "project", value_name = "PROJECT")]
    of_project: Option<String>,
    /// Task scope, by name or id.
    #[arg(long = "task", value_name = "TASK")]
    of_task: Option<String>,
}

impl PreferenceScopeArgs {
    async fn resolve_scope(&self, app: &mut CliContext) -> Result<PreferenceScope, CliFailure> {
        let (kind, id) = match self {
            Self { system: true, .. } => (ScopeKind::System, None),
            Self { of_group: Some(group), .. } => {
                (ScopeKind::Group, Some(groups::resolve_id(app, group).await?.as_uuid()))
            }
            Self { of_project: Some(project), .. } => {
                (ScopeKind::Project, Some(project::resolve_id(app, project).await?.as_uuid()))
            }
            Self { of_task: Some(task), .. } => {
                (ScopeKind::Task, Some(task::resolve_id(app, task).await?.as_uuid()))
            }
            Self { .. } => (ScopeKind::User, None),
        };
        Ok(PreferenceScope { scope_type: Some(kind), scope_id: id })
    }
}

pub(crate) async fn run(command: PrefsCommand, app: &mut CliContext) -> Result<(), CliFailure> {
    let entry = match command {
        PrefsCommand::List { known: true, .. } => {
            return known_keys::show(ConfigKeyKind::Preference, app);
        }
        PrefsCommand::List { known: false, scope, prefix } => {
            let page =
                Page { items: load_preferences(app, scope, prefix).await?, next_cursor: None };
            return app.out.show(&page, |page, ctx| render(&page.items, ctx));
        }
        PrefsCommand::Effective { task, project } => {
            let task = match &task {
                Some(task) => Some(task::resolve_id(app, task).await?),
                None => None,
            };
            let project = match &project {
                Some(project) => Some(project::resolve_id(app, project).await?),
                None => None,
            };
            let query = EffectiveQuery { task, project };
            let view = app.session.call(async |c| c.preference_effective(&query).await).await?;
            return app.out.show(&view, render_effective);
        }
        PrefsCommand::History { key, scope, page } => {
            let PreferenceScope { scope_type, scope_id } = scope.resolve_scope(app).await?;
            let PageQuery { limit, cursor } = page.into_query();
            let query = PreferenceChangesQuery { scope_type, scope_id, limit, cursor };
            let page = app.session.call(async |c| c.preference_changes(&key, &query).await).await?;
            return history::show(&page, app);
        }
        PrefsCommand::Unset { key, scope } => {
            let scope = scope.resolve_scope(app).await?;
            app.session.call(async |client| client.preference_remove(&key, &scope).await).await?;
            if app.out.format == Format::Json {
                app.out.print_json(&json!({"key": key, "removed": true}))?;
            }
            app.out.print_message(&format!("preference {key} removed"));
            return Ok(());
        }
        PrefsCommand::Get { key, scope } => {
            let scope = scope.resolve_scope(app).await?;
            app.session.call(async |client| client.preference_get(&key, &scope).await).await?
        }
        PrefsCommand::Set { key, value, scope, reason } => {
            let PreferenceScope { scope_type, scope_id } = scope.resolve_scope(app).await?;
            let value = serde_json::from_str(&value).unwrap_or(Value::String(value));
            let body = PutPreference {
                scope_type,
                scope_id,
                value,
                value_type: None,
                expected_version: None,
                reason,
            };
            let put = app.session.call(async |client| client.preference_put(&key, &body).await);
            let entry = put.await?;
            warn_unknown_node(&entry, app).await;
            entry
        }
    };
    app.out.show(&entry, |entry, ctx| render(std::slice::from_ref(entry), ctx))
}

/// Warns if a preference names a worker node that has not joined.
async fn warn_unknown_node(entry: &PreferenceView, app: &mut CliContext) {
    let (NODE_KEY, Some(node)) = (entry.key.as_str(), entry.value.as_str()) else { return };
    let Ok(nodes) = app.session.call(async |client| client.node_list().await).await else { return };
    if !nodes.iter().any(|known| known.node_slug == node) {
        let names: Vec<_> = nodes.into_iter().map(|known| known.node_slug).collect();
        app.out.print_message(&format!(
            "warning: no node is named \"{node}\"; nodes: {}",
            names.join(", ")
        ));
    }
}

async fn load_preferences(
    app: &mut CliContext,
    scope: PreferenceScopeArgs,
    prefix: String,
) -> Result<Vec<PreferenceView>, CliFailure> {
    let PreferenceScope { scope_type, scope_id } = scope.resolve_scope(app).await?;
    let (prefix, limit) = (Some(prefix), Some(MAX_LIMIT));
    let mut query = PreferenceQuery { scope_type, scope_id, prefix, limit, cursor: None };
    let mut all = vec![];
    loop {
        let page = app.session.call(async |client| client.preference_list(&query).await).await?;
        all.extend(page.items);
        query.cursor = page.next_cursor;
        if query.cursor.is_none() {
            return Ok(all);
        }
    }
}

fn render(entries: &[PreferenceView], ctx: RenderContext) -> String {
    let rows = entries.iter().map(|entry| {
        vec![
            entry.key.clone(),
            table::truncate(&entry.value.to_string(), 60),
            entry.scope_type.to_string(),
            entry.version.to_string(),
            relative_time::format_relative(ctx.now, entry.updated_at),
        ]
    });
    table::render_table(&["PREFERENCE", "VALUE", "SCOPE", "VERSION", "SET"], rows, ctx)
}

fn render_effective(view: &EffectiveView, ctx: RenderContext) -> String {
    let source = |key: &str| view.sources.as_ref().and_then(|sources| sources.get(key));
    let rows = view.effective.iter().map(|(key, value)| {
        let from = source(key);
        vec![
            key.clone(),
            table::truncate(&value.to_string(), 60),
            from.map(|from| from.scope_type.to_string()).unwrap_or_default(),
            from.map(|from| from.version.to_string()).unwrap_or_default(),
        ]
    });
    let mut text = table::render_table(&["PREFERENCE", "VALUE", "FROM", "VERSION"], rows, ctx);
    for skipped in &view.skipped {
        let line = format!("\nskipped: {} {}: {}", skipped.scope_type, skipped.key, skipped.reason);
        text += &table::sanitize(&line);
    }
    text
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta};
    use clap::Parser as _;
    use cynode_wire::preferences::{PreferenceSource, SkippedPreference};

    use super::*;

    /// The commands as a program of their own.
    #[derive(clap::Parser)]
    struct PrefsProgram {
        #[command(subcommand)]
        _command: PrefsCommand,
    }

    #[test]
    fn what_holds_is_listed_with_where_it_comes_from_and_what_was_passed_over() {
        let ctx = RenderContext { now: DateTime::UNIX_EPOCH + TimeDelta::seconds(60), width: None };
        let source = |scope_type, version| PreferenceSource { scope_type, scope_id: None, version };
        let skipped = SkippedPreference {
            scope_type: ScopeKind::Task,
            scope_id: None,
            key: "language.preferred".to_owned(),
            reason: "its value is no string".to_owned(),
        };
        let view = EffectiveView {
            effective: [
                ("language.preferred".to_owned(), json!("en")),
                ("model_routing.prefer_local".to_owned(), Value::Null),
            ]
            .into(),
            sources: Some(
                [
                    ("language.preferred".to_owned(), source(ScopeKind::System, 3)),
                    ("model_routing.prefer_local".to_owned(), source(ScopeKind::User, 1)),
                ]
                .into(),
            ),
            skipped: vec![skipped],
        };

        insta::assert_snapshot!(render_effective(&view, ctx));
    }

    #[test]
    fn projects_and_tasks_are_named_and_a_value_may_begin_with_a_dash() {
        let typed = |more: &[&str]| {
            let args = ["prefs", "set", "budget.run_usd", "-1"].iter().chain(more);
            PrefsProgram::try_parse_from(args).is_ok()
        };

        assert!(typed(&[]) && typed(&["--task", "build"]) && typed(&["--project", "mond"]));
        assert!(!typed(&["--task", "build", "--project", "mond"]));
    }
}
