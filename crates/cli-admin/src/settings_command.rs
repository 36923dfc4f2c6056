//! `settings`: settings of the installation.

use clap::Subcommand;
use cynode_domain::config_keys::ConfigKeyKind;
use cynode_wire::page::{MAX_LIMIT, Page, PageQuery};
use cynode_wire::settings::{SetSetting, SettingView};
use serde_json::{Value, json};

use crate::known_keys;
use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::global_args::Format;
use cynode_cli::history::HistoryPageArgs;
use cynode_cli::out::RenderContext;
use cynode_cli::{history, relative_time, table};

/// Manage settings of the installation.
#[derive(Debug, Subcommand)]
pub enum SettingsCommand {
    /// List the settings that are set; with --known, the keys that can be set.
    List {
        /// List the keys that CyNode reads and their allowed values.
        #[arg(long)]
        known: bool,
    },
    /// Show one setting.
    Get {
        /// The key.
        key: String,
    },
    /// Set a setting. Administrators only.
    ///
    /// Example: `cynork settings set mcp.audit.retention_days 90`
    Set {
        /// The key.
        key: String,
        /// The value: JSON, otherwise text.
        #[arg(allow_hyphen_values = true)]
        value: String,
        /// The reason, for the change history.
        #[arg(long)]
        reason: Option<String>,
    },
    /// Show who changed a setting, newest first. Administrators only.
    History {
        /// The key.
        key: String,
        #[command(flatten)]
        page: HistoryPageArgs,
    },
    /// Remove a setting. Administrators only.
    #[command(visible_aliases = ["unset", "delete"])]
    Remove {
        /// The key.
        key: String,
    },
}

pub async fn run(command: SettingsCommand, app: &mut CliContext) -> Result<(), CliFailure> {
    let setting = match command {
        SettingsCommand::List { known: true } => {
            return known_keys::show(ConfigKeyKind::Setting, app);
        }
        SettingsCommand::List { known: false } => {
            let page = Page { items: load_settings(app).await?, next_cursor: None };
            return app.out.show(&page, |page, ctx| render(&page.items, ctx));
        }
        SettingsCommand::History { key, page } => {
            let query = page.into_query();
            let page = app.session.call(async |c| c.setting_changes(&key, &query).await).await?;
            return history::show(&page, app);
        }
        SettingsCommand::Remove { key } => {
            app.session.call(async |client| client.setting_remove(&key).await).await?;
            if app.out.format == Format::Json {
                app.out.print_json(&json!({"key": key, "removed": true}))?;
            }
            app.out.print_message(&format!("setting {key} removed"));
            return Ok(());
        }
        SettingsCommand::Get { key } => {
            app.session.call(async |client| client.setting_get(&key).await).await?
        }
        SettingsCommand::Set { key, value, reason } => {
            let body = SetSetting { value: parse_value(value), expected_version: None, reason };
            app.session.call(async |client| client.setting_set(&key, &body).await).await?
        }
    };
    app.out.show(&setting, |setting, ctx| render(std::slice::from_ref(setting), ctx))
}

async fn load_settings(app: &mut CliContext) -> Result<Vec<SettingView>, CliFailure> {
    let mut query = PageQuery { limit: Some(MAX_LIMIT), cursor: None };
    let mut all = vec![];
    loop {
        let page = app.session.call(async |client| client.setting_list(&query).await).await?;
        all.extend(page.items);
        query.cursor = page.next_cursor;
        if query.cursor.is_none() {
            return Ok(all);
        }
    }
}

/// Parses JSON; other text becomes a string.
fn parse_value(value: String) -> Value {
    serde_json::from_str(&value).unwrap_or(Value::String(value))
}

fn render(settings: &[SettingView], ctx: RenderContext) -> String {
    let rows = settings.iter().map(|setting| {
        vec![
            setting.key.clone(),
            table::truncate(&setting.value.to_string(), 60),
            setting.version.to_string(),
            relative_time::format_relative(ctx.now, setting.updated_at),
        ]
    });
    table::render_table(&["SETTING", "VALUE", "VERSION", "SET"], rows, ctx)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_json_where_it_can_be_and_text_otherwise() {
        assert_eq!(parse_value("90".to_owned()), json!(90));
        assert_eq!(parse_value("true".to_owned()), json!(true));
        assert_eq!(parse_value("often".to_owned()), json!("often"));
    }
}
