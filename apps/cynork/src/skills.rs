//! `skills`: texts that tell agents how to work.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use cynode_domain::ids::{ProjectId, SkillId};
use cynode_domain::skill::{SYSTEM_SKILL, SkillScope};
use cynode_wire::page::{MAX_LIMIT, Page};
use cynode_wire::skills::{CreateSkill, SkillContentView, SkillQuery, SkillView, UpdateSkill};
use serde_json::json;

use crate::app::App;
use crate::cli::Format;
use crate::failure::Failure;
use crate::out::Look;
use crate::task::input::{self, Purpose};
use crate::{age, groups, table};

/// Texts that tell agents how to work. `default` is the system's own, which goes with every prompt.
#[derive(Debug, Subcommand)]
pub enum SkillsCommand {
    /// List the skills that you can read.
    List {
        /// Only those of this scope: user, group, project or global.
        #[arg(long)]
        scope: Option<SkillScope>,
    },
    /// Show a skill with its text.
    Get {
        /// The skill's id, or `default`.
        #[arg(value_parser = skill)]
        skill: SkillId,
    },
    /// Keep a skill. Hidden text, orders to drop instructions and requests for secrets are refused.
    ///
    /// Example: `cynork skills load review.md --group writers`
    Load {
        /// The text, in Markdown; `-` is standard input.
        file: PathBuf,
        /// Its name; the first heading without it.
        #[arg(long)]
        name: Option<String>,
        /// Who can read it.
        #[command(flatten)]
        readers: Readers,
    },
    /// Change a skill. Administrators replace the text of `default` with it.
    Update {
        /// The skill's id, or `default`.
        #[arg(value_parser = skill)]
        skill: SkillId,
        /// Another text, in Markdown; `-` is standard input.
        #[arg(long)]
        file: Option<PathBuf>,
        /// Another name.
        #[arg(long)]
        name: Option<String>,
        /// Other readers.
        #[command(flatten)]
        readers: Readers,
    },
    /// Remove a skill. Of `default` the text of the release comes back.
    #[command(visible_alias = "remove")]
    Delete {
        /// The skill's id, or `default`.
        #[arg(value_parser = skill)]
        skill: SkillId,
    },
}

/// Who can read a skill: you alone without any of these.
#[derive(Debug, Default, Args)]
#[group(multiple = false)]
pub struct Readers {
    /// You alone.
    #[arg(long)]
    private: bool,
    /// The members of a group of yours, by name or id.
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
    /// Those who see a project.
    #[arg(long, value_name = "ID")]
    project: Option<ProjectId>,
    /// Everybody. Administrators only.
    #[arg(long)]
    global: bool,
}

impl Readers {
    /// As the gateway wants it said; nothing where nothing was said.
    async fn asked(self, app: &mut App) -> Result<CreateSkill, Failure> {
        let scope = match &self {
            Self { private: true, .. } => Some(SkillScope::User),
            Self { group: Some(_), .. } => Some(SkillScope::Group),
            Self { project: Some(_), .. } => Some(SkillScope::Project),
            Self { global: true, .. } => Some(SkillScope::Global),
            Self { .. } => None,
        };
        let group_id = match self.group {
            Some(group) => Some(groups::id_of(app, &group).await?),
            None => None,
        };
        let project_id = self.project;
        Ok(CreateSkill { content: String::new(), name: None, scope, project_id, group_id })
    }
}

/// Does what the command says.
pub(crate) async fn run(command: SkillsCommand, app: &mut App) -> Result<(), Failure> {
    let written = match command {
        SkillsCommand::List { scope } => {
            let page = Page { items: every(app, scope).await?, next_cursor: None };
            return app.out.show(&page, |page, look| render(&page.items, look));
        }
        SkillsCommand::Get { skill } => {
            let view = app.session.call(async |client| client.skill_get(skill).await).await?;
            return app.out.show(&view, render_whole);
        }
        SkillsCommand::Load { file, name, readers } => {
            let content = input::read_text(&file, Purpose::Skill)?;
            let body = CreateSkill { content, name, ..readers.asked(app).await? };
            app.session.call(async |client| client.skill_load(&body).await).await?
        }
        SkillsCommand::Update { skill, file, name, readers } => {
            let read = |file: PathBuf| input::read_text(&file, Purpose::Skill);
            let content = file.map(read).transpose()?;
            let CreateSkill { scope, project_id, group_id, .. } = readers.asked(app).await?;
            let body = UpdateSkill { content, name, scope, project_id, group_id };
            if body == UpdateSkill::default() {
                return Err(Failure::Usage("say what to change: see --help".to_owned()));
            }
            app.session.call(async |client| client.skill_update(skill, &body).await).await?
        }
        SkillsCommand::Delete { skill } => {
            app.session.call(async |client| client.skill_remove(skill).await).await?;
            if app.out.format == Format::Json {
                app.out.json(&json!({"id": skill, "removed": true}))?;
            }
            app.out.say(&removed(skill));
            return Ok(());
        }
    };
    app.out.show(&written, |written, look| render(std::slice::from_ref(written), look))
}

/// `default`, or an id.
fn skill(text: &str) -> Result<SkillId, String> {
    if text == "default" {
        return Ok(SYSTEM_SKILL.into());
    }
    text.parse().map_err(|_| "use a skill's id, see `cynork skills list`, or default".to_owned())
}

fn removed(skill: SkillId) -> String {
    if skill.as_uuid() == SYSTEM_SKILL {
        return "the default skill is that of the release again".to_owned();
    }
    format!("skill {skill} is removed")
}

async fn every(app: &mut App, scope: Option<SkillScope>) -> Result<Vec<SkillView>, Failure> {
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

fn render(skills: &[SkillView], look: Look) -> String {
    let rows = skills.iter().map(|skill| {
        vec![
            table::short(&skill.name, 40),
            skill.scope.to_string(),
            author(skill).to_owned(),
            skill.version.to_string(),
            age::ago(look.now, skill.updated_at),
            skill.id.to_string(),
        ]
    });
    table::rows(&["SKILL", "READ BY", "FROM", "VERSION", "WRITTEN", "ID"], rows, look)
}

fn author(skill: &SkillView) -> &'static str {
    match (skill.owner, skill.updated_by) {
        (Some(_), _) => "user",
        (None, None) => "release",
        (None, Some(_)) => "administrator",
    }
}

fn render_whole(view: &SkillContentView, look: Look) -> String {
    let head = render(std::slice::from_ref(&view.skill), look);
    let text: Vec<String> = view.content.lines().map(table::harmless).collect();
    format!("{head}\n\n{}", text.join("\n"))
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta};
    use cynode_domain::ids::UserId;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn skills_are_listed_with_who_reads_them_and_whose_text_they_have() {
        let look = Look { now: DateTime::UNIX_EPOCH + TimeDelta::seconds(60), width: None };
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
        };
        let all = [
            skill(SkillScope::Global, None, None),
            skill(SkillScope::Global, None, Some(user)),
            skill(SkillScope::Group, Some(user), Some(user)),
        ];

        insta::assert_snapshot!(render(&all, look));
    }

    #[test]
    fn the_default_skill_has_a_name_on_the_command_line() {
        assert_eq!(skill("default").unwrap().as_uuid(), SYSTEM_SKILL);
        assert!(skill("other").unwrap_err().contains("cynork skills list"));
    }
}
