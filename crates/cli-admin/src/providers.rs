//! `models`: models and the providers that serve them.

use clap::{Args, Subcommand};
use cynode_domain::model::{ProviderKind, ProviderUse};
use cynode_wire::changes::ChangeQuery;
use cynode_wire::providers::{ModelsView, ProviderTestView, ProviderView, PutProvider};
use serde_json::json;

use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::global_args::Format;
use cynode_cli::history::HistoryPageArgs;
use cynode_cli::out::RenderContext;
use cynode_cli::{history, relative_time, table};

/// List models, and manage the providers that serve them.
#[derive(Debug, Subcommand)]
pub enum ModelsCommand {
    /// List the models that you may use.
    List,
    /// List all providers. Administrators only.
    Providers,
    /// Add or replace a provider. Administrators only.
    ///
    /// Example: `cynork models add-provider local --kind openai --url http://127.0.0.1:8080/v1 --allow everyone`
    AddProvider(AddProviderArgs),
    /// Remove a provider; its credentials are kept. Administrators only.
    #[command(visible_alias = "delete-provider")]
    RemoveProvider {
        /// The provider name.
        name: String,
    },
    /// Show who added, replaced and removed providers, newest first. Administrators only.
    History {
        /// The provider name [default: all providers].
        name: Option<String>,
        #[command(flatten)]
        page: HistoryPageArgs,
    },
    /// Test a provider: list its models with the credential that your calls would use. Administrators only.
    Test {
        /// The provider name.
        name: String,
    },
}

/// Arguments of `models add-provider`.
#[derive(Debug, Args)]
pub struct AddProviderArgs {
    /// The name: the part before the slash in its model ids.
    name: String,
    /// The API it speaks: openai (or compatible), anthropic or ollama.
    #[arg(long)]
    kind: ProviderKind,
    /// The base URL [default: the public endpoint of its kind].
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Who may use it: everyone, admins, or rules (as access rules allow).
    #[arg(long, value_name = "WHO", default_value = "rules")]
    allow: ProviderUse,
    /// A model id it serves; repeatable [default: ask the provider].
    #[arg(long = "model", value_name = "MODEL")]
    models: Vec<String>,
    /// Treat it as local: no credential, no cost, preferred [default: if its URL is on this machine].
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    local: Option<bool>,
    /// Maximum concurrent calls [default: 16].
    #[arg(long, value_name = "N")]
    concurrency: Option<u32>,
    /// Add it disabled.
    #[arg(long)]
    disabled: bool,
}

impl AddProviderArgs {
    fn into_request(self) -> (String, PutProvider) {
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

pub async fn run(command: ModelsCommand, app: &mut CliContext) -> Result<(), CliFailure> {
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
            let (name, body) = args.into_request();
            let put = app.session.call(async |client| client.provider_put(&name, &body).await);
            app.out.show(&put.await?, |row, ctx| render_providers(std::slice::from_ref(row), ctx))
        }
        ModelsCommand::RemoveProvider { name } => {
            app.session.call(async |client| client.provider_remove(&name).await).await?;
            if app.out.format == Format::Json {
                app.out.print_json(&json!({"name": name, "removed": true}))?;
            }
            app.out.print_message(&format!("provider {name} removed"));
            Ok(())
        }
        ModelsCommand::History { name, page } => {
            let query = page.into_query();
            let page = if let Some(name) = name {
                app.session.call(async |c| c.provider_changes(&name, &query).await).await?
            } else {
                let query = ChangeQuery::for_resource_type("model_provider", query);
                app.session.call(async |client| client.access_changes(&query).await).await?
            };
            history::show(&page, app)
        }
        ModelsCommand::Test { name } => {
            let tried = app.session.call(async |client| client.provider_test(&name).await).await?;
            app.out.show(&tried, render_test)?;
            if tried.is_ok { Ok(()) } else { Err(CliFailure::NotCompleted) }
        }
    }
}

fn render_models(view: &ModelsView, ctx: RenderContext) -> String {
    let place = |is_local: bool| if is_local { "local" } else { "external" };
    let rows = view.models.iter().map(|model| {
        vec![model.id.clone(), place(model.is_local).to_owned(), model.hints.join(", ")]
    });
    let mut text = table::render_table(&["MODEL", "LOCATION", "HINTS"], rows, ctx);
    for silent in &view.silent {
        text += &table::sanitize(&format!("\nprovider {}: {}", silent.provider, silent.reason));
    }
    text
}

fn render_providers(providers: &[ProviderView], ctx: RenderContext) -> String {
    let rows = providers.iter().map(|provider| {
        let models = match provider.models.as_slice() {
            [] => "from provider".to_owned(),
            models => table::truncate(&models.join(", "), 40),
        };
        vec![
            provider.name.clone(),
            provider.kind.to_string(),
            if provider.is_local { "local" } else { "external" }.to_owned(),
            if provider.is_enabled { provider.allow.as_str() } else { "disabled" }.to_owned(),
            models,
            provider.base_url.clone(),
            relative_time::format_relative(ctx.now, provider.updated_at),
        ]
    });
    table::render_table(
        &["PROVIDER", "KIND", "LOCATION", "ALLOW", "MODELS", "URL", "SET"],
        rows,
        ctx,
    )
}

fn render_test(view: &ProviderTestView, ctx: RenderContext) -> String {
    table::render_pairs(
        &[
            ("result", Some(if view.is_ok { "ok" } else { "failed" }.to_owned())),
            ("detail", Some(view.detail.clone())),
            ("models", Some(view.models.join(", "))),
            ("took", Some(format!("{} ms", view.latency_ms))),
        ],
        ctx,
    )
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta};
    use cynode_wire::providers::{ModelView, SilentProvider};

    use super::*;

    fn render_context() -> RenderContext {
        RenderContext { now: DateTime::UNIX_EPOCH + TimeDelta::seconds(60), width: None }
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

        insta::assert_snapshot!(render_models(&view, render_context()));
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

        insta::assert_snapshot!(render_providers(&all, render_context()));
    }
}
