//! What can be asked: the models of a caller, and who could answer to a name.

use cynode_llm::ProviderError;
use cynode_store::ModelProvider;
use cynode_wire::providers::{ModelView, ModelsView, SilentProvider};
use futures_util::future::join_all;

use super::choose::{self, Candidate, Lists, Named};
use super::decide::{Decision, decide};
use super::snapshot::Standing;
use super::{Egress, EgressError, Inference};
use crate::Caller;
use crate::preferences::{Preferences, Subject};

impl Egress {
    /// The models that a caller may use.
    pub async fn models(&self, caller: &Caller) -> Result<ModelsView, EgressError> {
        let inference = Inference::of_user(caller.clone(), "models", "");
        let standing = self.standing(&inference).await?;
        let settings = &standing.known.settings;
        let mut view = ModelsView::default();
        for (row, list) in self.lists(&inference, &standing).await {
            let provider = row.name.clone();
            match list {
                Err(error) => {
                    view.silent.push(SilentProvider { provider, reason: error.to_string() });
                }
                Ok(list) => view.models.extend(list.into_iter().map(|model| {
                    let id = format!("{provider}/{model}");
                    let hints = choose::hints_of(&id, settings);
                    let (provider, is_local) = (provider.clone(), row.is_local);
                    ModelView { id, provider, model, is_local, hints }
                })),
            }
        }
        Ok(view)
    }

    /// The same question with the routing that preferences say: those of its task, or of its project
    /// and user, for its role.
    pub async fn with_preferences(&self, asks: Inference) -> Result<Inference, EgressError> {
        let subject = match (asks.task, asks.project) {
            (Some(task), _) => Subject::Task(task),
            (None, Some(project)) => Subject::Project(project),
            (None, None) => Subject::Caller,
        };
        let preferences = Preferences::new(self.store.clone(), self.clock.clone());
        let effective = preferences.effective(&asks.caller, subject, false).await;
        let effective = effective.map_err(|error| EgressError::Preferences(Box::new(error)))?;
        let routing = super::Routing::from_preferences(asks.role(), &effective.effective);
        Ok(Inference { routing, ..asks })
    }

    /// Those who could answer to `name`, in the order in which the caller wants them asked.
    pub(super) async fn candidates(
        &self,
        inference: &Inference,
        standing: &Standing,
        name: Option<&str>,
    ) -> Result<Vec<Candidate>, EgressError> {
        let known = &standing.known;
        if known.providers.is_empty() {
            return Err(EgressError::NoProvider);
        }
        let named = choose::read(name, &known.providers);
        // A full name needs nobody's list.
        let needs_lists = match &named {
            Named::Hint(hint) => choose::hinted(hint, &known.settings).is_empty(),
            Named::Full(..) => false,
            Named::Plain(_) => true,
        };
        let found = if needs_lists { self.lists(inference, standing).await } else { vec![] };
        let listed = |(row, list): &(&ModelProvider, Listed)| {
            Some((row.name.clone(), list.as_ref().ok()?.clone()))
        };
        let choose = |lists: &Lists| {
            let routing = &inference.routing;
            choose::choose(&named, &known.providers, lists, &known.settings, routing)
        };
        match choose(&found.iter().filter_map(listed).collect()) {
            // Somebody whom the caller may not use may have it: that is refused, and on record.
            Err(EgressError::UnknownModel(name)) => {
                let rows = known.providers.iter();
                let all = rows.map(|row| (row.name.clone(), row.models.clone())).collect();
                choose(&all).map_err(|_| why_unknown(name, found))
            }
            chosen => chosen,
        }
    }

    /// What each provider that the caller may use offers. Rows that name their models are not asked.
    async fn lists<'s>(
        &self,
        inference: &Inference,
        standing: &'s Standing,
    ) -> Vec<(&'s ModelProvider, Listed)> {
        let known = &standing.known;
        let may_use = |row: &&ModelProvider| {
            let decision = decide(inference, standing.powers(inference), row, &known.rules);
            matches!(decision, Decision::Allow(_))
        };
        let rows = known.providers.iter().filter(may_use);
        join_all(rows.map(|row| async move {
            let who = standing.who(inference);
            let secret = self.credentials.pick(&known.credentials, &row.name, who);
            let secret = secret.ok().flatten().map(|(_, secret)| secret);
            (row, self.lanes.models(row, &known.settings, secret.as_ref()).await)
        }))
        .await
    }
}

/// What a provider offers, or why it did not say.
type Listed = Result<Vec<String>, ProviderError>;

/// That nobody lists it may be because somebody could not be asked.
fn why_unknown(name: String, found: Vec<(&ModelProvider, Listed)>) -> EgressError {
    let silent = found.into_iter().find_map(|(row, list)| Some((row.name.clone(), list.err()?)));
    match silent {
        Some((provider, cause)) => EgressError::Provider { provider, cause },
        None => EgressError::UnknownModel(name),
    }
}
