//! Agent profiles, and their canary runs.

use cynode_wire::agent_profiles::{
    AgentProfileView, CreateAgentProfile, StartCanary, StartedCanariesView, UpdateAgentProfile,
};
use reqwest::Method;

use crate::request::{read_json, send};
use crate::{Client, ClientError};

impl Client {
    /// `GET /v1/agent-profiles`
    pub async fn agent_profile_list(&self) -> Result<Vec<AgentProfileView>, ClientError> {
        self.get(&["v1", "agent-profiles"]).await
    }

    /// `GET /v1/agent-profiles/{profile}`
    pub async fn agent_profile_get(&self, profile: &str) -> Result<AgentProfileView, ClientError> {
        self.get(&["v1", "agent-profiles", profile]).await
    }

    /// `POST /v1/agent-profiles`
    pub async fn agent_profile_create(
        &self,
        body: &CreateAgentProfile,
    ) -> Result<AgentProfileView, ClientError> {
        self.post(&["v1", "agent-profiles"], body).await
    }

    /// `PUT /v1/agent-profiles/{profile}`
    pub async fn agent_profile_update(
        &self,
        profile: &str,
        body: &UpdateAgentProfile,
    ) -> Result<AgentProfileView, ClientError> {
        let request = self.request(Method::PUT, &["v1", "agent-profiles", profile]).json(body);
        read_json(send(request).await?).await
    }

    /// `DELETE /v1/agent-profiles/{profile}`
    pub async fn agent_profile_remove(&self, profile: &str) -> Result<(), ClientError> {
        send(self.request(Method::DELETE, &["v1", "agent-profiles", profile])).await.map(drop)
    }

    /// `POST /v1/agent-profiles/{profile}/canary`
    pub async fn agent_canary_start(
        &self,
        profile: &str,
        body: &StartCanary,
    ) -> Result<StartedCanariesView, ClientError> {
        self.post(&["v1", "agent-profiles", profile, "canary"], body).await
    }
}
