//! `prefs`: preferences, wishes about how work is done.

use clap::{Args, Subcommand};
use cynode_domain::known::Place;
use cynode_domain::preference::ScopeKind;
use cynode_wire::page::{MAX_LIMIT, Page, PageQuery};
use cynode_wire::preferences::{
    EffectiveQuery, EffectiveView, PreferenceChangesQuery, PreferenceQuery, PreferenceScope,
    PreferenceView, PutPreference,
};
use serde_json::{Value, json};

use crate::app::App;
use crate::cli::Format;
use crate::failure::Failure;
use crate::history::HistoryArgs;
use crate::out::Look;
use crate::{age, groups, history, known, project, table, task};

/// The preference that says on which node work runs.
const NODE_KEY: &str = "agents.project_manager.placement.node";

/// Wishes about how work is done. A task's win over its project's, those over your own, those over a
/// group's, and those over the system's.
#[derive(Debug, Subcommand)]
pub enum PrefsCommand {
    /// List the preferences of one scope, or with --known those that can be set.
    List {
        /// List the keys that CyNode reads, and what each can be.
        #[arg(long)]
        known: bool,
        /// Whose.
        #[command(flatten)]
        scope: ScopeArgs,
        /// Only keys that begin with this.
        #[arg(long, default_value = "")]
        prefix: String,
    },
    /// Show one preference.
    Get {
        /// The key.
        key: String,
        /// Whose.
        #[command(flatten)]
        scope: ScopeArgs,
    },
    /// Write a preference, new or not.
    ///
    /// Example: `cynork prefs set agents.project_manager.model_routing.prefer_local true`
    Set {
        /// The key.
        key: String,
        /// The value: JSON, or else text. null hides what weaker scopes say.
        #[arg(allow_hyphen_values = true)]
        value: String,
        /// Whose.
        #[command(flatten)]
        scope: ScopeArgs,
        /// Why, for the record.
        #[arg(long)]
        reason: Option<String>,
    },
    /// Remove a preference: what weaker scopes say shows again.
    #[command(visible_aliases = ["remove", "delete"])]
    Unset {
        /// The key.
        key: String,
        /// Whose.
        #[command(flatten)]
        scope: ScopeArgs,
    },
    /// Show who changed a preference, newest first.
    History {
        /// The key.
        key: String,
        /// Whose.
        #[command(flatten)]
        scope: ScopeArgs,
        /// How much of it.
        #[command(flatten)]
        page: HistoryArgs,
    },
    /// Show what holds, and where each value comes from.
    Effective {
        /// For a task, by name or id.
        #[arg(long, value_name = "TASK", conflicts_with = "project")]
        task: Option<String>,
        /// For a project, by slug or id.
        #[arg(long, value_name = "PROJECT")]
        project: Option<String>,
    },
}

/// Whose preferences: your own without any of these.
#[derive(Debug, Clone, Default, Args)]
#[group(multiple = false)]
pub struct ScopeArgs {
    /// The system's, which hold for everybody.
    #[arg(long)]
    system: bool,
    /// A group's, by name or id. Its members read them, administrators write them.
    #[arg(long = "group", value_name = "GROUP")]
    of_group: Option<String>,
    /// A project's, by slug or id.
    #[arg(long = "project", value_name = "PROJECT")]
    of_project: Option<String>,
    /// A task's, by name or id.
    #[arg(long = "task", value_name = "TASK")]
    of_task: Option<String>,
}

impl ScopeArgs {
    async fn scope(&self, app: &mut App) -> Result<PreferenceScope, Failure> {
        let (kind, id) = match self {
            Self { system: true, .. } => (ScopeKind::System, None),
            Self { of_group: Some(group), .. } => {
                (ScopeKind::Group, Some(groups::id_of(app, group).await?.as_uuid()))
            }
            Self { of_project: Some(project), .. } => {
                (ScopeKind::Project, Some(project::id_of(app, project).await?.as_uuid()))
            }
            Self { of_task: Some(task), .. } => {
                (ScopeKind::Task, Some(task::id_of(app, task).await?.as_uuid()))
            }
            Self { .. } => (ScopeKind::User, None),
        };
        Ok(PreferenceScope { scope_type: Some(kind), scope_id: id })
    }
}

/// Does what the command says.
pub(crate) async fn run(command: PrefsCommand, app: &mut App) -> Result<(), Failure> {
    let entry = match command {
        PrefsCommand::List { known: true, .. } => return known::show(Place::Preference, app),
        PrefsCommand::List { known: false, scope, prefix } => {
            let page = Page { items: every(app, scope, prefix).await?, next_cursor: None };
            return app.out.show(&page, |page, look| render(&page.items, look));
        }
        PrefsCommand::Effective { task, project } => {
            let task = match &task {
                Some(task) => Some(task::id_of(app, task).await?),
                None => None,
            };
            let project = match &project {
                Some(project) => Some(project::id_of(app, project).await?),
                None => None,
            };
            let query = EffectiveQuery { task, project };
            let view = app.session.call(async |c| c.preference_effective(&query).await).await?;
            return app.out.show(&view, render_effective);
        }
        PrefsCommand::History { key, scope, page } => {
            let PreferenceScope { scope_type, scope_id } = scope.scope(app).await?;
            let PageQuery { limit, cursor } = page.page();
            let query = PreferenceChangesQuery { scope_type, scope_id, limit, cursor };
            let page = app.session.call(async |c| c.preference_changes(&key, &query).await).await?;
            return history::show(&page, app);
        }
        PrefsCommand::Unset { key, scope } => {
            let scope = scope.scope(app).await?;
            app.session.call(async |client| client.preference_remove(&key, &scope).await).await?;
            if app.out.format == Format::Json {
                app.out.json(&json!({"key": key, "removed": true}))?;
            }
            app.out.say(&format!("preference {key} is removed"));
            return Ok(());
        }
        PrefsCommand::Get { key, scope } => {
            let scope = scope.scope(app).await?;
            app.session.call(async |client| client.preference_get(&key, &scope).await).await?
        }
        PrefsCommand::Set { key, value, scope, reason } => {
            let PreferenceScope { scope_type, scope_id } = scope.scope(app).await?;
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
            mind_the_node(&entry, app).await;
            entry
        }
    };
    app.out.show(&entry, |entry, look| render(std::slice::from_ref(entry), look))
}

/// Says so if a preference names a node that is not there: it may be misspelt, or still to join.
async fn mind_the_node(entry: &PreferenceView, app: &mut App) {
    let (NODE_KEY, Some(node)) = (entry.key.as_str(), entry.value.as_str()) else { return };
    let Ok(nodes) = app.session.call(async |client| client.node_list().await).await else { return };
    if !nodes.iter().any(|known| known.node_slug == node) {
        let names: Vec<_> = nodes.into_iter().map(|known| known.node_slug).collect();
        app.out.say(&format!("there is no node \"{node}\" now; there are: {}", names.join(", ")));
    }
}

async fn every(
    app: &mut App,
    scope: ScopeArgs,
    prefix: String,
) -> Result<Vec<PreferenceView>, Failure> {
    let PreferenceScope { scope_type, scope_id } = scope.scope(app).await?;
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

fn render(entries: &[PreferenceView], look: Look) -> String {
    let rows = entries.iter().map(|entry| {
        vec![
            entry.key.clone(),
            table::short(&entry.value.to_string(), 60),
            entry.scope_type.to_string(),
            entry.version.to_string(),
            age::ago(look.now, entry.updated_at),
        ]
    });
    table::rows(&["PREFERENCE", "VALUE", "SCOPE", "VERSION", "SET"], rows, look)
}

fn render_effective(view: &EffectiveView, look: Look) -> String {
    let source = |key: &str| view.sources.as_ref().and_then(|sources| sources.get(key));
    let rows = view.effective.iter().map(|(key, value)| {
        let from = source(key);
        vec![
            key.clone(),
            table::short(&value.to_string(), 60),
            from.map(|from| from.scope_type.to_string()).unwrap_or_default(),
            from.map(|from| from.version.to_string()).unwrap_or_default(),
        ]
    });
    let mut text = table::rows(&["PREFERENCE", "VALUE", "FROM", "VERSION"], rows, look);
    for skipped in &view.skipped {
        let line =
            format!("\npassed over: {} {}: {}", skipped.scope_type, skipped.key, skipped.reason);
        text += &table::harmless(&line);
    }
    text
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta};
    use clap::Parser as _;
    use cynode_wire::preferences::{PreferenceSource, SkippedPreference};

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn what_holds_is_listed_with_where_it_comes_from_and_what_was_passed_over() {
        let look = Look { now: DateTime::UNIX_EPOCH + TimeDelta::seconds(60), width: None };
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

        insta::assert_snapshot!(render_effective(&view, look));
    }

    #[test]
    fn projects_and_tasks_are_named_and_a_value_may_begin_with_a_dash() {
        let typed = |more: &[&str]| {
            let args = ["cynork", "prefs", "set", "budget.run_usd", "-1"].iter().chain(more);
            Cli::try_parse_from(args).is_ok()
        };

        assert!(typed(&[]) && typed(&["--task", "build"]) && typed(&["--project", "mond"]));
        assert!(!typed(&["--task", "build", "--project", "mond"]));
    }
}
