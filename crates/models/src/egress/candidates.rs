//! The models of a caller, and the candidates for a model name.

use cynode_llm::ProviderError;
use cynode_store::ModelProvider;
use cynode_wire::providers::{ModelView, ModelsView, SilentProvider};
use futures_util::future::join_all;

use super::access::{ProviderAccess, decide_access};
use super::resolve::{self, ModelCandidate, ModelLists, ParsedModelName};
use super::snapshot::CallPolicy;
use super::{Egress, EgressError, Inference};
use cynode_resources::Caller;
use cynode_resources::preferences::{PreferenceService, PreferenceSubject};

impl Egress {
    /// Lists the models that a caller may use.
    pub async fn list_models(&self, caller: &Caller) -> Result<ModelsView, EgressError> {
        let inference = Inference::for_user(caller.clone(), "models", "");
        let policy = self.load_call_policy(&inference).await?;
        let settings = &policy.snapshot.settings;
        let mut view = ModelsView::default();
        for (row, list) in self.fetch_model_lists(&inference, &policy).await {
            let provider = row.name.clone();
            match list {
                Err(error) => {
                    view.silent.push(SilentProvider { provider, reason: error.to_string() });
                }
                Ok(list) => view.models.extend(list.into_iter().map(|model| {
                    let id = format!("{provider}/{model}");
                    let hints = resolve::hints_for_model(&id, settings);
                    let (provider, is_local) = (provider.clone(), row.is_local);
                    ModelView { id, provider, model, is_local, hints }
                })),
            }
        }
        Ok(view)
    }

    /// Adds the routing preferences of the task, or else of project and user, for the agent type.
    pub async fn with_preferences(&self, asks: Inference) -> Result<Inference, EgressError> {
        let subject = match (asks.task, asks.project) {
            (Some(task), _) => PreferenceSubject::Task(task),
            (None, Some(project)) => PreferenceSubject::Project(project),
            (None, None) => PreferenceSubject::Caller,
        };
        let preferences = PreferenceService::new(self.store.clone(), self.clock.clone());
        let effective = preferences.effective(&asks.caller, subject, false).await;
        let effective = effective.map_err(|error| EgressError::Preferences(Box::new(error)))?;
        let routing = super::ModelRouting::from_preferences(asks.role(), &effective.effective);
        Ok(Inference { routing, ..asks })
    }

    /// Returns the candidates for `name`, in the order of the caller's routing.
    pub(super) async fn load_candidates(
        &self,
        inference: &Inference,
        policy: &CallPolicy,
        name: Option<&str>,
    ) -> Result<Vec<ModelCandidate>, EgressError> {
        let known = &policy.snapshot;
        if known.providers.is_empty() {
            return Err(EgressError::NoProvider);
        }
        let named = resolve::parse_model_name(name, &known.providers);
        // A full name needs no model list.
        let needs_lists = match &named {
            ParsedModelName::Hint(hint) => resolve::hint_targets(hint, &known.settings).is_empty(),
            ParsedModelName::Full(..) => false,
            ParsedModelName::Plain(_) => true,
        };
        let found =
            if needs_lists { self.fetch_model_lists(inference, policy).await } else { vec![] };
        let listed = |(row, list): &(&ModelProvider, ModelListResult)| {
            Some((row.name.clone(), list.as_ref().ok()?.clone()))
        };
        let choose = |lists: &ModelLists| {
            let routing = &inference.routing;
            resolve::resolve_candidates(&named, &known.providers, lists, &known.settings, routing)
        };
        match choose(&found.iter().filter_map(listed).collect()) {
            // A provider that the caller may not use may have the model: that is rejected and
            // recorded.
            Err(EgressError::UnknownModel(name)) => {
                let rows = known.providers.iter();
                let all = rows.map(|row| (row.name.clone(), row.models.clone())).collect();
                choose(&all).map_err(|_| unknown_model_error(name, found))
            }
            chosen => chosen,
        }
    }

    /// Returns the model list of each provider that the caller may use. Rows that configure their
    /// models are not fetched.
    async fn fetch_model_lists<'s>(
        &self,
        inference: &Inference,
        policy: &'s CallPolicy,
    ) -> Vec<(&'s ModelProvider, ModelListResult)> {
        let known = &policy.snapshot;
        let may_use = |row: &&ModelProvider| {
            let (groups, is_admin) = (policy.groups(inference), policy.is_admin);
            let decision = decide_access(inference, groups, is_admin, row, &known.rules);
            matches!(decision, ProviderAccess::Allow(_))
        };
        let rows = known.providers.iter().filter(may_use);
        join_all(rows.map(|row| async move {
            let (user, groups) = (inference.caller.user, policy.groups(inference));
            let secret = self.credentials.select(&known.credentials, &row.name, user, groups);
            let secret = secret.ok().flatten().map(|(_, secret)| secret);
            (row, self.lanes.models(row, &known.settings, secret.as_ref()).await)
        }))
        .await
    }
}

/// A model list, or why it could not be fetched.
type ModelListResult = Result<Vec<String>, ProviderError>;

/// The model may be unknown only because a provider could not be listed.
fn unknown_model_error(name: String, found: Vec<(&ModelProvider, ModelListResult)>) -> EgressError {
    let silent = found.into_iter().find_map(|(row, list)| Some((row.name.clone(), list.err()?)));
    match silent {
        Some((provider, cause)) => EgressError::Provider { provider, cause },
        None => EgressError::UnknownModel(name),
    }
}
