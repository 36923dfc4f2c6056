//! `groups`: groups of users.

use clap::Subcommand;
use cynode_domain::ids::GroupId;
use cynode_wire::groups::{CreateGroup, GroupView, MemberView};
use serde_json::json;

use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::global_args::Format;
use cynode_cli::out::RenderContext;
use cynode_cli::{relative_time, table};

/// Manage groups of users. Preferences, credentials, rules and skills can belong to a group; if two groups of a
/// user conflict, the newer group wins.
#[derive(Debug, Subcommand)]
pub enum GroupsCommand {
    /// List your groups; administrators see all groups.
    List,
    /// Create a group. Administrators only.
    Create {
        /// The name: lowercase letters, digits and single dashes.
        name: String,
        /// The display name [default: the name].
        #[arg(long, value_name = "TEXT")]
        display_name: Option<String>,
    },
    /// Remove a group with its preferences, credentials and rules. Administrators only.
    Delete {
        /// The group, by name or id.
        group: String,
    },
    /// List the members of a group.
    Members {
        /// The group, by name or id.
        group: String,
    },
    /// Add users to a group, effective immediately. Administrators only.
    ///
    /// Example: `cynork groups add writers bob eve`
    Add {
        /// The group, by name or id.
        group: String,
        /// The users, by handle or id.
        #[arg(required = true)]
        users: Vec<String>,
    },
    /// Remove users from a group, effective immediately. Administrators only.
    Remove {
        /// The group, by name or id.
        group: String,
        /// The users, by handle or id.
        #[arg(required = true)]
        users: Vec<String>,
    },
}

pub async fn run(command: GroupsCommand, app: &mut CliContext) -> Result<(), CliFailure> {
    match command {
        GroupsCommand::List => {
            let groups = app.session.load_pages(async |c, page| c.group_list(page).await);
            app.out.list(groups.await?, render)
        }
        GroupsCommand::Create { name, display_name } => {
            let body = CreateGroup { name, display_name };
            let made = app.session.call(async |client| client.group_create(&body).await).await?;
            app.out.show(&made, |made, ctx| render(std::slice::from_ref(made), ctx))
        }
        GroupsCommand::Delete { group } => {
            app.session.call(async |client| client.group_remove(&group).await).await?;
            if app.out.format == Format::Json {
                app.out.print_json(&json!({"group": group, "removed": true}))?;
            }
            app.out.print_message(&format!("group {group} removed"));
            Ok(())
        }
        GroupsCommand::Members { group } => {
            let members = app.session.load_pages(async |c, page| c.member_list(&group, page).await);
            app.out.list(members.await?, render_members)
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
                app.out.print_message(&format!("{user} removed from {group}"));
            }
            if app.out.format == Format::Json {
                app.out.print_json(&json!({"group": group, "removed": users}))?;
            }
            Ok(())
        }
    }
}

/// Resolves a group, by name or id.
pub async fn resolve_id(app: &mut CliContext, group: &str) -> Result<GroupId, CliFailure> {
    if let Ok(id) = group.parse() {
        return Ok(id);
    }
    Ok(app.session.call(async |client| client.group_get(group).await).await?.id)
}

fn render(groups: &[GroupView], ctx: RenderContext) -> String {
    let rows = groups.iter().map(|group| {
        vec![
            group.name.clone(),
            table::truncate(&group.display_name, 40),
            if group.is_member { "yes" } else { "no" }.to_owned(),
            relative_time::format_relative(ctx.now, group.created_at),
            group.id.to_string(),
        ]
    });
    table::render_table(&["GROUP", "NAME", "MEMBER", "CREATED", "ID"], rows, ctx)
}

fn render_members(members: &[MemberView], ctx: RenderContext) -> String {
    let rows = members.iter().map(|member| {
        vec![
            member.handle.clone(),
            relative_time::format_relative(ctx.now, member.added_at),
            member.user_id.to_string(),
        ]
    });
    table::render_table(&["USER", "ADDED", "ID"], rows, ctx)
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn groups_are_listed_with_whether_one_is_in_them() {
        let ctx = RenderContext { now: DateTime::UNIX_EPOCH + TimeDelta::seconds(60), width: None };
        let group = |number: u128, name: &str, is_member| GroupView {
            id: GroupId::from(Uuid::from_u128(number)),
            name: name.to_owned(),
            display_name: name.to_uppercase(),
            is_member,
            created_at: DateTime::UNIX_EPOCH,
        };

        insta::assert_snapshot!(render(
            &[group(1, "readers", false), group(2, "writers", true)],
            ctx
        ));
    }
}
