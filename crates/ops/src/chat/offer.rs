//! The models that a caller may name.

use std::collections::BTreeSet;

use async_trait::async_trait;
use cynode_wire::health::ManagerStatus;
use cynode_wire::openai::{ChatCompletion, ModelEntry};
use cynode_wire::providers::ModelsView;

use super::{Chat, ChatError, MANAGER_MODEL};
use crate::Caller;
use crate::egress::{Egress, EgressError, EgressStream, Inference};
use crate::secrets::CleanRequest;

/// Who answers for models that are not the project manager.
#[async_trait]
pub trait Models: Send + Sync {
    /// The models that a caller may use.
    async fn models(&self, caller: &Caller) -> Result<ModelsView, EgressError>;
    /// Asks a model and waits for the whole answer.
    async fn chat(
        &self,
        inference: &Inference,
        request: CleanRequest,
    ) -> Result<ChatCompletion, EgressError>;
    /// Asks a model for an answer in pieces; dropping them gives it up.
    async fn stream(
        &self,
        inference: &Inference,
        request: CleanRequest,
    ) -> Result<EgressStream, EgressError>;
}

#[async_trait]
impl Models for Egress {
    async fn models(&self, caller: &Caller) -> Result<ModelsView, EgressError> {
        Self::models(self, caller).await
    }

    async fn chat(
        &self,
        inference: &Inference,
        request: CleanRequest,
    ) -> Result<ChatCompletion, EgressError> {
        Self::chat(self, inference, request).await
    }

    async fn stream(
        &self,
        inference: &Inference,
        request: CleanRequest,
    ) -> Result<EgressStream, EgressError> {
        Self::stream(self, inference, request).await
    }
}

impl Chat {
    /// Whether the project manager is there.
    pub async fn manager_status(&self) -> ManagerStatus {
        if !self.handoffs.is_configured() {
            ManagerStatus::Absent
        } else if self.handoffs.is_there().await {
            ManagerStatus::Present
        } else {
            ManagerStatus::Away
        }
    }

    /// What a caller may name as a model: the project manager, the models of providers, and the
    /// hints that mean one of them.
    pub async fn models(&self, caller: &Caller) -> Result<Vec<ModelEntry>, ChatError> {
        let offered = match self.models.models(caller).await {
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
