//! The configured agents of work units.

use cynode_planning::assignment::{AgentRoster, ROSTER_SETTING};

use crate::{RequestError, RequestService};

impl RequestService {
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
