//! The configured agents of work units.

use cynode_planning::assignment::{AgentRoster, ROSTER_SETTING};

use crate::{RequestError, RequestService};

impl RequestService {
    /// What is wrong with the configuration of requests, for operators; `None` if nothing is, or if the database does not say.
    /// No request is planned while there is a fault.
    pub async fn configuration_fault(&self) -> Option<String> {
        match self.load_roster().await {
            Err(error @ RequestError::InvalidRoster(_)) => Some(error.to_string()),
            Ok(_) | Err(_) => None,
        }
    }

    /// Loads the agents of work units. Fails if the setting is not valid, for example because a profile was deleted since.
    pub async fn load_roster(&self) -> Result<AgentRoster, RequestError> {
        let (setting, profiles) = self
            .store
            .read(|tx| {
                Box::pin(async move {
                    let found = tx.setting_get(ROSTER_SETTING).await?;
                    let profiles = match &found {
                        Some(_) => tx.agent_profile_list().await?,
                        None => vec![],
                    };
                    Ok::<_, RequestError>((found.map(|setting| setting.value), profiles))
                })
            })
            .await?;
        let names: Vec<String> = profiles.iter().map(|profile| profile.name.to_string()).collect();
        setting.map_or_else(
            || Ok(AgentRoster::default()),
            |value| AgentRoster::parse(&value, &names).map_err(RequestError::InvalidRoster),
        )
    }
}
