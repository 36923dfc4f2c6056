//! `history`: change records, shared by all resources.

use clap::Args;
use cynode_wire::changes::ChangeView;
use cynode_wire::page::{Page, PageQuery};
use serde_json::Value;

use crate::context::CliContext;
use crate::failure::CliFailure;
use crate::out::RenderContext;
use crate::{relative_time, table};

/// Paging arguments.
#[derive(Debug, Args)]
pub struct HistoryPageArgs {
    /// Page size, 1 to 200.
    #[arg(short, long, value_name = "N", default_value_t = 50)]
    pub limit: u32,
    /// Continue after the previous page.
    #[arg(long)]
    pub cursor: Option<String>,
}

impl HistoryPageArgs {
    pub fn into_query(self) -> PageQuery {
        PageQuery { limit: Some(self.limit), cursor: self.cursor }
    }
}

/// Prints a page of changes and how to get the next one.
pub fn show(page: &Page<ChangeView>, app: &CliContext) -> Result<(), CliFailure> {
    app.out.show(page, |page, ctx| render(&page.items, ctx))?;
    print_next_page(page.next_cursor.as_deref(), app);
    Ok(())
}

/// Prints how to get the next page, if there is one.
pub fn print_next_page(next_cursor: Option<&str>, app: &CliContext) {
    if let Some(cursor) = next_cursor {
        app.out.print_message(&format!("more: --cursor {cursor}"));
    }
}

fn render(changes: &[ChangeView], ctx: RenderContext) -> String {
    if changes.is_empty() {
        return "no changes recorded".to_owned();
    }
    let rows = changes.iter().map(|change| {
        vec![
            relative_time::format_relative(ctx.now, change.changed_at),
            format_author(change),
            change.action.clone(),
            change.resource.clone(),
            format_change(change),
            table::truncate(change.reason.as_deref().unwrap_or_default(), 80),
        ]
    });
    table::render_table(&["WHEN", "BY", "ACTION", "RESOURCE", "VALUE", "REASON"], rows, ctx)
}

fn format_author(change: &ChangeView) -> String {
    let id = || change.changed_by.map_or_else(|| "the system".to_owned(), |id| id.to_string());
    change.changed_by_handle.clone().unwrap_or_else(id)
}

/// Formats the old and the new value.
fn format_change(change: &ChangeView) -> String {
    let say = |value: &Value| table::truncate(&value.to_string(), 40);
    match (&change.old_value, &change.new_value) {
        (None, None) => String::new(),
        (None, Some(new)) => say(new),
        (Some(old), None) => format!("was {}", say(old)),
        (Some(old), Some(new)) => format!("{} -> {}", say(old), say(new)),
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta};
    use cynode_domain::ids::{ChangeId, UserId};
    use serde_json::json;

    use super::*;

    fn change(action: &str, old: Option<Value>, new: Option<Value>) -> ChangeView {
        ChangeView {
            id: ChangeId::generate(),
            changed_at: DateTime::UNIX_EPOCH,
            changed_by: Some(UserId::from(uuid::Uuid::from_u128(7))),
            changed_by_handle: Some("ada".to_owned()),
            action: action.to_owned(),
            resource_type: "setting".to_owned(),
            resource: "mcp.audit.retention_days".to_owned(),
            old_value: old,
            new_value: new,
            reason: None,
        }
    }

    #[test]
    fn a_history_says_who_changed_what_from_what_to_what_and_why() {
        let ctx = RenderContext { now: DateTime::UNIX_EPOCH + TimeDelta::seconds(60), width: None };
        let (of_gone, of_system) = (
            ChangeView {
                changed_by_handle: None,
                ..change("setting.remove", Some(json!(90)), None)
            },
            ChangeView {
                changed_by_handle: None,
                changed_by: None,
                reason: Some("the law\u{1b}[2J".to_owned()),
                ..change("setting.create", None, Some(Value::Null))
            },
        );
        let updated = change("setting.update", Some(Value::Null), Some(json!(90)));

        insta::assert_snapshot!(render(&[of_gone, updated, of_system], ctx));
        assert_eq!(render(&[], ctx), "no changes recorded");
    }
}
