//! `groups`: groups of users.

use clap::Subcommand;
use cynode_domain::ids::GroupId;
use cynode_wire::groups::{CreateGroup, GroupView, MemberView};
use cynode_wire::page::{MAX_LIMIT, Page, PageQuery};
use serde_json::json;

use crate::app::App;
use crate::cli::Format;
use crate::failure::Failure;
use crate::out::Look;
use crate::{age, table};

/// Groups of users. Preferences, credentials, rules and skills may be a group's; where two groups of a
/// user disagree, the one that was made later counts.
#[derive(Debug, Subcommand)]
pub enum GroupsCommand {
    /// List your groups; for administrators every group.
    List,
    /// Make a group. Administrators only.
    Create {
        /// Its name: lowercase letters, digits and single dashes.
        name: String,
        /// The name people see; the same without it.
        #[arg(long, value_name = "TEXT")]
        display_name: Option<String>,
    },
    /// Remove a group with its preferences, credentials and rules. Administrators only.
    Delete {
        /// The group, by name or id.
        group: String,
    },
    /// List who is in a group.
    Members {
        /// The group, by name or id.
        group: String,
    },
    /// Add users to a group. It counts at once. Administrators only.
    ///
    /// Example: `cynork groups add writers bob eve`
    Add {
        /// The group, by name or id.
        group: String,
        /// The users, by handle or id.
        #[arg(required = true)]
        users: Vec<String>,
    },
    /// Take users out of a group. It counts at once. Administrators only.
    Remove {
        /// The group, by name or id.
        group: String,
        /// The users, by handle or id.
        #[arg(required = true)]
        users: Vec<String>,
    },
}

/// Does what the command says.
pub(crate) async fn run(command: GroupsCommand, app: &mut App) -> Result<(), Failure> {
    match command {
        GroupsCommand::List => {
            let page = Page { items: every(app).await?, next_cursor: None };
            app.out.show(&page, |page, look| render(&page.items, look))
        }
        GroupsCommand::Create { name, display_name } => {
            let body = CreateGroup { name, display_name };
            let made = app.session.call(async |client| client.group_create(&body).await).await?;
            app.out.show(&made, |made, look| render(std::slice::from_ref(made), look))
        }
        GroupsCommand::Delete { group } => {
            app.session.call(async |client| client.group_remove(&group).await).await?;
            if app.out.format == Format::Json {
                app.out.json(&json!({"group": group, "removed": true}))?;
            }
            app.out.say(&format!("group {group} is removed"));
            Ok(())
        }
        GroupsCommand::Members { group } => {
            let page = Page { items: members(app, &group).await?, next_cursor: None };
            app.out.show(&page, |page, look| render_members(&page.items, look))
        }
        GroupsCommand::Add { group, users } => {
            let mut added = vec![];
            for user in &users {
                let member = app.session.call(async |c| c.member_add(&group, user).await).await?;
                added.push(member);
            }
            app.out.list(added, render_members)
        }
        GroupsCommand::Remove { group, users } => {
            for user in &users {
                app.session.call(async |client| client.member_remove(&group, user).await).await?;
                app.out.say(&format!("{user} is not in {group} any more"));
            }
            if app.out.format == Format::Json {
                app.out.json(&json!({"group": group, "removed": users}))?;
            }
            Ok(())
        }
    }
}

/// The group that is meant, by name or id.
pub(crate) async fn id_of(app: &mut App, group: &str) -> Result<GroupId, Failure> {
    if let Ok(id) = group.parse() {
        return Ok(id);
    }
    Ok(app.session.call(async |client| client.group_get(group).await).await?.id)
}

async fn every(app: &mut App) -> Result<Vec<GroupView>, Failure> {
    let mut query = PageQuery { limit: Some(MAX_LIMIT), cursor: None };
    let mut all = vec![];
    loop {
        let page = app.session.call(async |client| client.group_list(&query).await).await?;
        all.extend(page.items);
        query.cursor = page.next_cursor;
        if query.cursor.is_none() {
            return Ok(all);
        }
    }
}

async fn members(app: &mut App, group: &str) -> Result<Vec<MemberView>, Failure> {
    let mut query = PageQuery { limit: Some(MAX_LIMIT), cursor: None };
    let mut all = vec![];
    loop {
        let page = app.session.call(async |client| client.member_list(group, &query).await).await?;
        all.extend(page.items);
        query.cursor = page.next_cursor;
        if query.cursor.is_none() {
            return Ok(all);
        }
    }
}

fn render(groups: &[GroupView], look: Look) -> String {
    let rows = groups.iter().map(|group| {
        vec![
            group.name.clone(),
            table::short(&group.display_name, 40),
            if group.is_member { "yes" } else { "no" }.to_owned(),
            age::ago(look.now, group.created_at),
            group.id.to_string(),
        ]
    });
    table::rows(&["GROUP", "NAME", "YOU ARE IN IT", "MADE", "ID"], rows, look)
}

fn render_members(members: &[MemberView], look: Look) -> String {
    let rows = members.iter().map(|member| {
        vec![member.handle.clone(), age::ago(look.now, member.added_at), member.user_id.to_string()]
    });
    table::rows(&["USER", "ADDED", "ID"], rows, look)
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn groups_are_listed_with_whether_one_is_in_them() {
        let look = Look { now: DateTime::UNIX_EPOCH + TimeDelta::seconds(60), width: None };
        let group = |number: u128, name: &str, is_member| GroupView {
            id: GroupId::from(Uuid::from_u128(number)),
            name: name.to_owned(),
            display_name: name.to_uppercase(),
            is_member,
            created_at: DateTime::UNIX_EPOCH,
        };

        insta::assert_snapshot!(render(
            &[group(1, "readers", false), group(2, "writers", true)],
            look
        ));
    }
}
