//! The models that a caller may select.

use std::collections::BTreeSet;

use async_trait::async_trait;
use cynode_llm_wire::openai::{ChatCompletion, ModelEntry};
use cynode_wire::health::ManagerStatus;
use cynode_wire::providers::ModelsView;

use super::{Chat, ChatError, MANAGER_MODEL};
use cynode_models::{egress::Egress, egress::EgressError, egress::EgressStream, egress::Inference};
use cynode_resources::Caller;
use cynode_resources::secrets::RedactedRequest;

/// Source of models other than the project manager.
#[async_trait]
pub trait ModelSource: Send + Sync {
    /// Lists the models that a caller may use.
    async fn list_models(&self, caller: &Caller) -> Result<ModelsView, EgressError>;
    /// Returns a complete answer.
    async fn chat(
        &self,
        inference: &Inference,
        request: RedactedRequest,
    ) -> Result<ChatCompletion, EgressError>;
    /// Streams an answer; dropping the stream aborts the call.
    async fn stream(
        &self,
        inference: &Inference,
        request: RedactedRequest,
    ) -> Result<EgressStream, EgressError>;
}

#[async_trait]
impl ModelSource for Egress {
    async fn list_models(&self, caller: &Caller) -> Result<ModelsView, EgressError> {
        Self::list_models(self, caller).await
    }

    async fn chat(
        &self,
        inference: &Inference,
        request: RedactedRequest,
    ) -> Result<ChatCompletion, EgressError> {
        Self::chat(self, inference, request).await
    }

    async fn stream(
        &self,
        inference: &Inference,
        request: RedactedRequest,
    ) -> Result<EgressStream, EgressError> {
        Self::stream(self, inference, request).await
    }
}

impl Chat {
    /// Returns whether the project manager is configured and reachable.
    pub async fn manager_status(&self) -> ManagerStatus {
        if !self.handoffs.is_configured() {
            ManagerStatus::Absent
        } else if self.handoffs.is_reachable().await {
            ManagerStatus::Present
        } else {
            ManagerStatus::Away
        }
    }

    /// Lists what a caller may select as a model: the project manager, provider models, and hints.
    pub async fn list_models(&self, caller: &Caller) -> Result<Vec<ModelEntry>, ChatError> {
        let offered = match self.models.list_models(caller).await {
            Err(EgressError::NoProvider) => ModelsView::default(),
            offered => offered?,
        };
        let hints: BTreeSet<&String> = offered.models.iter().flat_map(|m| &m.hints).collect();
        let mut all = vec![ModelEntry::new(MANAGER_MODEL, "cynode")];
        all.extend(offered.models.iter().map(|model| ModelEntry::new(&model.id, &model.provider)));
        all.extend(hints.into_iter().map(|hint| ModelEntry::new(hint, "cynode")));
        Ok(all)
    }
}
