//! `skills`: texts that tell agents how to work.

use std::io::IsTerminal as _;
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
    /// Show a skill with its text; to a file, `cynork skills get ID > FILE`, goes the text alone.
    Get {
        /// The skill, by name or id, or `default`.
        skill: String,
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
        /// The skill, by name or id, or `default`.
        skill: String,
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
        /// The skill, by name or id, or `default`.
        skill: String,
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
            let skill = id_of(app, &skill).await?;
            let view = app.session.call(async |client| client.skill_get(skill).await).await?;
            return show_text(&view, app);
        }
        SkillsCommand::Load { file, name, readers } => {
            let content = input::read_text(&file, Purpose::Skill)?;
            let body = CreateSkill { content, name, ..readers.asked(app).await? };
            app.session.call(async |client| client.skill_load(&body).await).await?
        }
        SkillsCommand::Update { skill, file, name, readers } => {
            let skill = id_of(app, &skill).await?;
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
            let skill = id_of(app, &skill).await?;
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

/// The skill that is meant: `default`, an id, or the name of one skill that the caller can read.
async fn id_of(app: &mut App, wanted: &str) -> Result<SkillId, Failure> {
    match known_id(wanted) {
        Some(id) => Ok(id),
        None => named(wanted, &every(app, None).await?),
    }
}

fn known_id(wanted: &str) -> Option<SkillId> {
    if wanted.eq_ignore_ascii_case("default") {
        return Some(SYSTEM_SKILL.into());
    }
    wanted.parse().ok()
}

fn named(wanted: &str, all: &[SkillView]) -> Result<SkillId, Failure> {
    let mut found = all.iter().filter(|skill| skill.name.to_lowercase() == wanted.to_lowercase());
    match (found.next(), found.next()) {
        (Some(only), None) => Ok(only.id),
        (None, _) => Err(Failure::NotFound(format!(
            "there is no skill \"{wanted}\": see `cynork skills list`"
        ))),
        (Some(_), Some(_)) => Err(Failure::Usage(format!(
            "several skills are called \"{wanted}\": name one by its id, see `cynork skills list`"
        ))),
    }
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

/// The text alone is data, so that it can be written to a file and loaded again; the rest is talk.
fn show_text(view: &SkillContentView, app: &App) -> Result<(), Failure> {
    if app.out.format == Format::Json {
        return app.out.json(view);
    }
    app.out.say(&format!("{}\n", render(std::slice::from_ref(&view.skill), app.out.look())));
    app.out.prose(&view.content)?;
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
        };
        let all = [skill(1, "Review"), skill(2, "style"), skill(3, "Style")];

        assert_eq!(known_id("default").unwrap().as_uuid(), SYSTEM_SKILL);
        assert_eq!(known_id(&all[1].id.to_string()), Some(all[1].id));
        assert_eq!(named("review", &all).unwrap(), all[0].id);
        assert_eq!(named("style", &all).unwrap_err().code(), 2);
        assert!(named("other", &all).unwrap_err().to_string().contains("cynork skills list"));
    }
}
