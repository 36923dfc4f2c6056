//! `models`: which models there are, and who offers them.

use clap::{Args, Subcommand};
use cynode_domain::model::{ProviderKind, ProviderUse};
use cynode_wire::changes::ChangeQuery;
use cynode_wire::providers::{ModelsView, ProviderTestView, ProviderView, PutProvider};
use serde_json::json;

use crate::app::App;
use crate::cli::Format;
use crate::failure::Failure;
use crate::history::HistoryArgs;
use crate::out::Look;
use crate::{age, history, table};

/// See which models there are, and say who offers them.
#[derive(Debug, Subcommand)]
pub enum ModelsCommand {
    /// List the models that you may use.
    List,
    /// List every provider. Administrators only.
    Providers,
    /// Add a provider, or replace the one of that name. Administrators only.
    ///
    /// Example: `cynork models add-provider local --kind openai --url http://127.0.0.1:8080/v1 --allow everyone`
    AddProvider(ProviderArgs),
    /// Remove a provider; credentials for it stay. Administrators only.
    #[command(visible_alias = "delete-provider")]
    RemoveProvider {
        /// The provider.
        name: String,
    },
    /// Show who added, replaced and removed providers, newest first. Administrators only.
    History {
        /// The provider; without it, the changes of all of them.
        name: Option<String>,
        /// How much of it.
        #[command(flatten)]
        page: HistoryArgs,
    },
    /// Ask a provider what it offers, with the credential that your calls would use. Administrators only.
    Test {
        /// The provider.
        name: String,
    },
}

/// A provider to add.
#[derive(Debug, Args)]
pub struct ProviderArgs {
    /// Its name: what stands before the slash in the names of its models.
    name: String,
    /// What it speaks: openai (and everything compatible with it), anthropic or ollama.
    #[arg(long)]
    kind: ProviderKind,
    /// Where it is [default: the usual place of its kind].
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Who may use it: everyone, admins, or whom rules allow.
    #[arg(long, value_name = "WHO", default_value = "rules")]
    allow: ProviderUse,
    /// A model it offers; may be given several times. Without any, the provider is asked.
    #[arg(long = "model", value_name = "MODEL")]
    models: Vec<String>,
    /// It is one's own: needs no credential, costs nothing, comes first [default: if it is on this machine].
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    local: Option<bool>,
    /// How many calls it answers at the same time [default: 16].
    #[arg(long, value_name = "N")]
    concurrency: Option<u32>,
    /// Keep it, but do not use it.
    #[arg(long)]
    disabled: bool,
}

impl ProviderArgs {
    fn body(self) -> (String, PutProvider) {
        let body = PutProvider {
            kind: self.kind,
            base_url: self.url,
            is_local: self.local,
            is_enabled: Some(!self.disabled),
            allow: Some(self.allow),
            models: self.models,
            concurrency: self.concurrency,
            prices: [].into(),
        };
        (self.name, body)
    }
}

/// Does what the command says.
pub(crate) async fn run(command: ModelsCommand, app: &mut App) -> Result<(), Failure> {
    match command {
        ModelsCommand::List => {
            let models = app.session.call(async |client| client.model_list().await).await?;
            app.out.show(&models, render_models)
        }
        ModelsCommand::Providers => {
            let all = app.session.call(async |client| client.provider_list().await).await?;
            app.out.list(all, render_providers)
        }
        ModelsCommand::AddProvider(args) => {
            let (name, body) = args.body();
            let put = app.session.call(async |client| client.provider_put(&name, &body).await);
            app.out.show(&put.await?, |row, look| render_providers(std::slice::from_ref(row), look))
        }
        ModelsCommand::RemoveProvider { name } => {
            app.session.call(async |client| client.provider_remove(&name).await).await?;
            if app.out.format == Format::Json {
                app.out.json(&json!({"name": name, "removed": true}))?;
            }
            app.out.say(&format!("provider {name} is removed"));
            Ok(())
        }
        ModelsCommand::History { name, page } => {
            let query = page.page();
            let page = if let Some(name) = name {
                app.session.call(async |c| c.provider_changes(&name, &query).await).await?
            } else {
                let query = ChangeQuery::of("model_provider", query);
                app.session.call(async |client| client.access_changes(&query).await).await?
            };
            history::show(&page, app)
        }
        ModelsCommand::Test { name } => {
            let tried = app.session.call(async |client| client.provider_test(&name).await).await?;
            app.out.show(&tried, render_test)?;
            if tried.is_ok { Ok(()) } else { Err(Failure::NotCompleted) }
        }
    }
}

fn render_models(view: &ModelsView, look: Look) -> String {
    let place = |is_local: bool| if is_local { "local" } else { "external" };
    let rows = view.models.iter().map(|model| {
        vec![model.id.clone(), place(model.is_local).to_owned(), model.hints.join(", ")]
    });
    let mut text = table::rows(&["MODEL", "PLACE", "HINTS"], rows, look);
    for silent in &view.silent {
        text += &table::harmless(&format!("\nprovider {}: {}", silent.provider, silent.reason));
    }
    text
}

fn render_providers(providers: &[ProviderView], look: Look) -> String {
    let rows = providers.iter().map(|provider| {
        let models = match provider.models.as_slice() {
            [] => "asked".to_owned(),
            models => table::short(&models.join(", "), 40),
        };
        vec![
            provider.name.clone(),
            provider.kind.to_string(),
            if provider.is_local { "local" } else { "external" }.to_owned(),
            if provider.is_enabled { provider.allow.as_str() } else { "disabled" }.to_owned(),
            models,
            provider.base_url.clone(),
            age::ago(look.now, provider.updated_at),
        ]
    });
    table::rows(&["PROVIDER", "KIND", "PLACE", "ALLOW", "MODELS", "URL", "SET"], rows, look)
}

fn render_test(view: &ProviderTestView, look: Look) -> String {
    table::pairs(
        &[
            ("result", Some(if view.is_ok { "ok" } else { "failed" }.to_owned())),
            ("detail", Some(view.detail.clone())),
            ("models", Some(view.models.join(", "))),
            ("took", Some(format!("{} ms", view.latency_ms))),
        ],
        look,
    )
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta};
    use cynode_wire::providers::{ModelView, SilentProvider};

    use super::*;

    fn look() -> Look {
        Look { now: DateTime::UNIX_EPOCH + TimeDelta::seconds(60), width: None }
    }

    #[test]
    fn models_are_listed_with_place_and_hints_and_silent_providers_are_named() {
        let model = |id: &str, is_local, hints: &[&str]| {
            let (provider, model) = id.split_once('/').unwrap();
            let hints = hints.iter().map(|hint| (*hint).to_owned()).collect();
            let (id, provider, model) = (id.to_owned(), provider.to_owned(), model.to_owned());
            ModelView { id, provider, model, is_local, hints }
        };
        let silent =
            SilentProvider { provider: "gone".to_owned(), reason: "cannot be reached".to_owned() };
        let view = ModelsView {
            models: vec![model("local/tiny", true, &["fast"]), model("far/big", false, &[])],
            silent: vec![silent],
        };

        insta::assert_snapshot!(render_models(&view, look()));
    }

    #[test]
    fn providers_are_listed_with_who_may_use_them() {
        let provider = |name: &str, is_enabled, models: &[&str]| ProviderView {
            name: name.to_owned(),
            kind: ProviderKind::OpenAi,
            base_url: "http://127.0.0.1:8080/v1".to_owned(),
            is_local: true,
            is_enabled,
            allow: ProviderUse::Everyone,
            models: models.iter().map(|model| (*model).to_owned()).collect(),
            concurrency: 16,
            prices: [].into(),
            version: 1,
            updated_by: None,
            updated_at: DateTime::UNIX_EPOCH,
        };
        let all = [provider("local", true, &[]), provider("spare", false, &["a", "b"])];

        insta::assert_snapshot!(render_providers(&all, look()));
    }
}
