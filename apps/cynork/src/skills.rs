//! `skills`: instructions for agents.

use std::io::IsTerminal as _;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use cynode_domain::ids::{ProjectId, SkillId};
use cynode_domain::skill::{SYSTEM_SKILL, SkillScope};
use cynode_wire::page::{MAX_LIMIT, Page, PageQuery};
use cynode_wire::skills::{
    CreateSkill, ReleaseSkill, RollbackSkill, SkillContentView, SkillDiffQuery, SkillQuery,
    SkillVersionView, SkillView, UpdateSkill,
};
use serde_json::json;

use crate::task::input::{self, InputPurpose};
use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::global_args::Format;
use cynode_cli::out::RenderContext;
use cynode_cli::{relative_time, table};
use cynode_cli_admin::groups;

/// Manage skills: instructions for agents. `default` is part of every prompt.
#[derive(Debug, Subcommand)]
pub enum SkillsCommand {
    /// List the skills that you can read.
    List {
        /// Only skills of this scope: user, group, project or global.
        #[arg(long)]
        scope: Option<SkillScope>,
    },
    /// Show a skill with its text; `cynork skills get ID > FILE` writes the text only.
    Get {
        /// The skill, by name or id, or `default`.
        skill: String,
    },
    /// Load a skill. Hidden text, instruction overrides and requests for secrets are rejected.
    ///
    /// Example: `cynork skills load review.md --group writers`
    Load {
        /// The Markdown file; `-` is standard input.
        file: PathBuf,
        /// The name [default: the first heading].
        #[arg(long)]
        name: Option<String>,
        #[command(flatten)]
        readers: SkillScopeArgs,
    },
    /// Update a skill. Administrators can replace the text of `default`.
    Update {
        /// The skill, by name or id, or `default`.
        skill: String,
        /// A new text, as a Markdown file; `-` is standard input.
        #[arg(long)]
        file: Option<PathBuf>,
        /// A new name.
        #[arg(long)]
        name: Option<String>,
        /// The reason, which the history shows.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        #[command(flatten)]
        readers: SkillScopeArgs,
    },
    /// List the versions of a skill that you can change: who wrote them, when and why.
    History {
        /// The skill, by name or id, or `default`.
        skill: String,
    },
    /// Show what changed between two versions [default: the last change].
    Diff {
        /// The skill, by name or id, or `default`.
        skill: String,
        /// The older version.
        from: Option<i64>,
        /// The newer version [default: the current one].
        to: Option<i64>,
    },
    /// Restore a version, as a new version that is scanned like any other.
    Rollback {
        /// The skill, by name or id, or `default`.
        skill: String,
        /// The version, from `cynork skills history`.
        version: i64,
        /// The reason, which the history shows.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Release a skill from quarantine. Administrators only; the reason is recorded.
    ///
    /// The scan rejects the text of a skill in quarantine, so agents do not get it. A change of its text ends the release.
    Release {
        /// The skill, by name or id, or `default`.
        skill: String,
        /// Why the text is harmless.
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// Delete a skill. Deleting `default` restores the text of the release.
    #[command(visible_alias = "remove")]
    Delete {
        /// The skill, by name or id, or `default`.
        skill: String,
    },
}

/// Who can read a skill [default: only you].
#[derive(Debug, Default, Args)]
#[group(multiple = false)]
pub struct SkillScopeArgs {
    /// Only you.
    #[arg(long)]
    private: bool,
    /// The members of one of your groups, by name or id.
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
    /// The users with access to a project, by id.
    #[arg(long, value_name = "ID")]
    project: Option<ProjectId>,
    /// All users. Administrators only.
    #[arg(long)]
    global: bool,
}

impl SkillScopeArgs {
    /// Converts the flags to the scope fields of a request; empty if no flag is given.
    async fn resolve_scope(self, app: &mut CliContext) -> Result<CreateSkill, CliFailure> {
        let scope = match &self {
            Self { private: true, .. } => Some(SkillScope::User),
            Self { group: Some(_), .. } => Some(SkillScope::Group),
            Self { project: Some(_), .. } => Some(SkillScope::Project),
            Self { global: true, .. } => Some(SkillScope::Global),
            Self { .. } => None,
        };
        let group_id = match self.group {
            Some(group) => Some(groups::resolve_id(app, &group).await?),
            None => None,
        };
        let project_id = self.project;
        Ok(CreateSkill { content: String::new(), name: None, scope, project_id, group_id })
    }
}

pub(crate) async fn run(command: SkillsCommand, app: &mut CliContext) -> Result<(), CliFailure> {
    let written = match command {
        SkillsCommand::List { scope } => {
            let page = Page { items: load_skills(app, scope).await?, next_cursor: None };
            return app.out.show(&page, |page, ctx| render(&page.items, ctx));
        }
        SkillsCommand::Get { skill } => {
            let skill = resolve_id(app, &skill).await?;
            let view = app.session.call(async |client| client.skill_get(skill).await).await?;
            return print_skill(&view, app);
        }
        SkillsCommand::Load { file, name, readers } => {
            let content = input::read_text(&file, InputPurpose::Skill)?;
            let body = CreateSkill { content, name, ..readers.resolve_scope(app).await? };
            app.session.call(async |client| client.skill_load(&body).await).await?
        }
        SkillsCommand::History { skill } => {
            let skill = resolve_id(app, &skill).await?;
            let query = PageQuery { limit: Some(MAX_LIMIT), cursor: None };
            let page =
                app.session.call(async |client| client.skill_history(skill, &query).await).await?;
            return app.out.show(&page, |page, ctx| render_history(&page.items, ctx));
        }
        SkillsCommand::Diff { skill, from, to } => {
            let skill = resolve_id(app, &skill).await?;
            let query = SkillDiffQuery { from, to };
            let view =
                app.session.call(async |client| client.skill_diff(skill, &query).await).await?;
            if app.out.format == Format::Json {
                return app.out.print_json(&view);
            }
            if view.diff.is_empty() {
                let (from, to) = (view.from, view.to);
                app.out.print_message(&format!("versions {from} and {to} have the same text"));
                return Ok(());
            }
            app.out.untrusted_stdout().write(&view.diff)?;
            return Ok(());
        }
        SkillsCommand::Rollback { skill, version, reason } => {
            let skill = resolve_id(app, &skill).await?;
            let body = RollbackSkill { version, reason };
            app.session.call(async |client| client.skill_rollback(skill, &body).await).await?
        }
        SkillsCommand::Release { skill, reason } => {
            let skill = resolve_id(app, &skill).await?;
            let body = ReleaseSkill { reason };
            app.session.call(async |client| client.skill_release(skill, &body).await).await?
        }
        SkillsCommand::Update { skill, file, name, reason, readers } => {
            let skill = resolve_id(app, &skill).await?;
            let read = |file: PathBuf| input::read_text(&file, InputPurpose::Skill);
            let content = file.map(read).transpose()?;
            let CreateSkill { scope, project_id, group_id, .. } =
                readers.resolve_scope(app).await?;
            let body = UpdateSkill { content, name, scope, project_id, group_id, reason: None };
            if body == UpdateSkill::default() {
                return Err(CliFailure::Usage(
                    "nothing to change; give --file, --name or a scope flag".to_owned(),
                ));
            }
            let body = UpdateSkill { reason, ..body };
            app.session.call(async |client| client.skill_update(skill, &body).await).await?
        }
        SkillsCommand::Delete { skill } => {
            let skill = resolve_id(app, &skill).await?;
            app.session.call(async |client| client.skill_remove(skill).await).await?;
            if app.out.format == Format::Json {
                app.out.print_json(&json!({"id": skill, "removed": true}))?;
            }
            app.out.print_message(&removal_message(skill));
            return Ok(());
        }
    };
    app.out.show(&written, |written, ctx| render(std::slice::from_ref(written), ctx))
}

/// Resolves a skill: `default`, an id, or the name of one readable skill.
async fn resolve_id(app: &mut CliContext, name_or_id: &str) -> Result<SkillId, CliFailure> {
    match known_id(name_or_id) {
        Some(id) => Ok(id),
        None => resolve_name(name_or_id, &load_skills(app, None).await?),
    }
}

fn known_id(name_or_id: &str) -> Option<SkillId> {
    if name_or_id.eq_ignore_ascii_case("default") {
        return Some(SYSTEM_SKILL.into());
    }
    name_or_id.parse().ok()
}

fn resolve_name(name_or_id: &str, all: &[SkillView]) -> Result<SkillId, CliFailure> {
    let mut found =
        all.iter().filter(|skill| skill.name.to_lowercase() == name_or_id.to_lowercase());
    match (found.next(), found.next()) {
        (Some(only), None) => Ok(only.id),
        (None, _) => Err(CliFailure::NotFound(format!(
            "no skill is named \"{name_or_id}\"; see `cynork skills list`"
        ))),
        (Some(_), Some(_)) => Err(CliFailure::Usage(format!(
            "several skills are named \"{name_or_id}\"; give an id from `cynork skills list`"
        ))),
    }
}

fn removal_message(skill: SkillId) -> String {
    if skill.as_uuid() == SYSTEM_SKILL {
        return "default skill reset to the text of the release".to_owned();
    }
    format!("skill {skill} removed")
}

async fn load_skills(
    app: &mut CliContext,
    scope: Option<SkillScope>,
) -> Result<Vec<SkillView>, CliFailure> {
    let mut query = SkillQuery { scope, limit: Some(MAX_LIMIT), ..SkillQuery::default() };
    let mut all = vec![];
    loop {
        let page = app.session.call(async |client| client.skill_list(&query).await).await?;
        all.extend(page.items);
        query.cursor = page.next_cursor;
        if query.cursor.is_none() {
            return Ok(all);
        }
    }
}

fn render(skills: &[SkillView], ctx: RenderContext) -> String {
    let rows = skills.iter().map(|skill| {
        vec![
            table::truncate(&skill.name, 40),
            skill.scope.to_string(),
            format_author(skill).to_owned(),
            format_state(skill),
            skill.version.to_string(),
            relative_time::format_relative(ctx.now, skill.updated_at),
            skill.id.to_string(),
        ]
    });
    let heads = ["SKILL", "SCOPE", "AUTHOR", "STATE", "VERSION", "UPDATED", "ID"];
    table::render_table(&heads, rows, ctx)
}

/// Whether agents get the skill; for those who may change it, which rule rejects it.
fn format_state(skill: &SkillView) -> String {
    match &skill.quarantine {
        None => "active".to_owned(),
        Some(findings) => match findings.first() {
            Some(finding) => format!("quarantined: {}", table::truncate(&finding.rule, 30)),
            None => "quarantined".to_owned(),
        },
    }
}

fn render_history(versions: &[SkillVersionView], ctx: RenderContext) -> String {
    let rows = versions.iter().map(|version| {
        vec![
            version.version.to_string(),
            relative_time::format_relative(ctx.now, version.created_at),
            version.author.map_or_else(|| "release".to_owned(), |author| author.to_string()),
            table::truncate(&version.name, 40),
            table::truncate(version.reason.as_deref().unwrap_or("-"), 60),
        ]
    });
    table::render_table(&["VERSION", "WRITTEN", "AUTHOR", "NAME", "REASON"], rows, ctx)
}

fn format_author(skill: &SkillView) -> &'static str {
    match (skill.owner, skill.updated_by) {
        (Some(_), _) => "user",
        (None, None) => "release",
        (None, Some(_)) => "administrator",
    }
}

/// Writes the text alone to standard output, so that it can be redirected and loaded again.
fn print_skill(view: &SkillContentView, app: &CliContext) -> Result<(), CliFailure> {
    if app.out.format == Format::Json {
        return app.out.print_json(view);
    }
    app.out.print_message(&format!(
        "{}\n",
        render(std::slice::from_ref(&view.skill), app.out.render_context())
    ));
    app.out.untrusted_stdout().write(&view.content)?;
    if std::io::stdout().is_terminal() && !view.content.ends_with('\n') {
        app.out.data("\n")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta};
    use cynode_domain::ids::UserId;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn skills_are_listed_with_who_reads_them_and_whose_text_they_have() {
        let ctx = RenderContext { now: DateTime::UNIX_EPOCH + TimeDelta::seconds(60), width: None };
        let user = UserId::from(Uuid::from_u128(7));
        let skill = |scope, owner, updated_by| SkillView {
            id: SkillId::from(Uuid::from_u128(1)),
            name: "How we work".to_owned(),
            scope,
            project_id: None,
            group_id: None,
            owner,
            content_sha256: String::new(),
            version: 3,
            created_at: DateTime::UNIX_EPOCH,
            updated_at: DateTime::UNIX_EPOCH,
            updated_by,
            quarantine: None,
        };
        let all = [
            skill(SkillScope::Global, None, None),
            skill(SkillScope::Global, None, Some(user)),
            skill(SkillScope::Group, Some(user), Some(user)),
        ];

        insta::assert_snapshot!(render(&all, ctx));
    }

    #[test]
    fn a_skill_is_named_by_its_id_its_name_or_default() {
        let skill = |number: u128, name: &str| SkillView {
            id: SkillId::from(Uuid::from_u128(number)),
            name: name.to_owned(),
            scope: SkillScope::User,
            project_id: None,
            group_id: None,
            owner: None,
            content_sha256: String::new(),
            version: 1,
            created_at: DateTime::UNIX_EPOCH,
            updated_at: DateTime::UNIX_EPOCH,
            updated_by: None,
            quarantine: None,
        };
        let all = [skill(1, "Review"), skill(2, "style"), skill(3, "Style")];

        assert_eq!(known_id("default").unwrap().as_uuid(), SYSTEM_SKILL);
        assert_eq!(known_id(&all[1].id.to_string()), Some(all[1].id));
        assert_eq!(resolve_name("review", &all).unwrap(), all[0].id);
        assert_eq!(resolve_name("style", &all).unwrap_err().code(), 2);
        assert!(
            resolve_name("other", &all).unwrap_err().to_string().contains("cynork skills list")
        );
    }
}
