//! `settings`: settings of the installation.

use clap::Subcommand;
use cynode_domain::known::Place;
use cynode_wire::page::{MAX_LIMIT, Page, PageQuery};
use cynode_wire::settings::{SetSetting, SettingView};
use serde_json::{Value, json};

use crate::app::App;
use crate::cli::Format;
use crate::failure::Failure;
use crate::history::HistoryArgs;
use crate::out::Look;
use crate::{age, history, known, table};

/// Settings of the installation.
#[derive(Debug, Subcommand)]
pub enum SettingsCommand {
    /// List the settings that are set, or with --known those that can be.
    List {
        /// List the keys that CyNode reads, and what each can be.
        #[arg(long)]
        known: bool,
    },
    /// Show one setting.
    Get {
        /// The setting.
        key: String,
    },
    /// Set a setting. Administrators only.
    ///
    /// Example: `cynork settings set mcp.audit.retention_days 90`
    Set {
        /// The setting.
        key: String,
        /// Its value: JSON, or else text.
        #[arg(allow_hyphen_values = true)]
        value: String,
        /// Why, for the record.
        #[arg(long)]
        reason: Option<String>,
    },
    /// Show who changed a setting, newest first. Administrators only.
    History {
        /// The setting.
        key: String,
        /// How much of it.
        #[command(flatten)]
        page: HistoryArgs,
    },
    /// Remove a setting. Administrators only.
    #[command(visible_aliases = ["unset", "delete"])]
    Remove {
        /// The setting.
        key: String,
    },
}

/// Does what the command says.
pub(crate) async fn run(command: SettingsCommand, app: &mut App) -> Result<(), Failure> {
    let setting = match command {
        SettingsCommand::List { known: true } => return known::show(Place::Setting, app),
        SettingsCommand::List { known: false } => {
            let page = Page { items: every(app).await?, next_cursor: None };
            return app.out.show(&page, |page, look| render(&page.items, look));
        }
        SettingsCommand::History { key, page } => {
            let query = page.page();
            let page = app.session.call(async |c| c.setting_changes(&key, &query).await).await?;
            return history::show(&page, app);
        }
        SettingsCommand::Remove { key } => {
            app.session.call(async |client| client.setting_remove(&key).await).await?;
            if app.out.format == Format::Json {
                app.out.json(&json!({"key": key, "removed": true}))?;
            }
            app.out.say(&format!("setting {key} is removed"));
            return Ok(());
        }
        SettingsCommand::Get { key } => {
            app.session.call(async |client| client.setting_get(&key).await).await?
        }
        SettingsCommand::Set { key, value, reason } => {
            let body = SetSetting { value: read(value), expected_version: None, reason };
            app.session.call(async |client| client.setting_set(&key, &body).await).await?
        }
    };
    app.out.show(&setting, |setting, look| render(std::slice::from_ref(setting), look))
}

async fn every(app: &mut App) -> Result<Vec<SettingView>, Failure> {
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

/// JSON as JSON, anything else as text.
fn read(value: String) -> Value {
    serde_json::from_str(&value).unwrap_or(Value::String(value))
}

fn render(settings: &[SettingView], look: Look) -> String {
    let rows = settings.iter().map(|setting| {
        vec![
            setting.key.clone(),
            table::short(&setting.value.to_string(), 60),
            setting.version.to_string(),
            age::ago(look.now, setting.updated_at),
        ]
    });
    table::rows(&["SETTING", "VALUE", "VERSION", "SET"], rows, look)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_json_where_it_can_be_and_text_otherwise() {
        assert_eq!(read("90".to_owned()), json!(90));
        assert_eq!(read("true".to_owned()), json!(true));
        assert_eq!(read("often".to_owned()), json!("often"));
    }
}
