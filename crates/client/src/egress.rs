//! Models: providers, credentials, call records, and preferences.

use cynode_domain::ids::CredentialId;
use cynode_wire::credentials::{
    CredentialView, RotateCredential, RotatedKeyView, SetCredential, UpdateCredential,
};
use cynode_wire::decisions::{DecisionQuery, PastDecisionView};
use cynode_wire::inferences::{InferenceQuery, InferencesView};
use cynode_wire::page::Page;
use cynode_wire::preferences::{
    EffectiveQuery, EffectiveView, PreferenceQuery, PreferenceScope, PreferenceView, PutPreference,
};
use cynode_wire::providers::{ModelsView, ProviderTestView, ProviderView, PutProvider};
use reqwest::Method;

use crate::request::{read_json, send};
use crate::{Client, ClientError};

impl Client {
    /// `GET /v1/model-providers`
    pub async fn provider_list(&self) -> Result<Vec<ProviderView>, ClientError> {
        self.get(&["v1", "model-providers"]).await
    }

    /// `PUT /v1/model-providers/{name}`
    pub async fn provider_put(
        &self,
        name: &str,
        body: &PutProvider,
    ) -> Result<ProviderView, ClientError> {
        let request = self.request(Method::PUT, &["v1", "model-providers", name]).json(body);
        read_json(send(request).await?).await
    }

    /// `DELETE /v1/model-providers/{name}`
    pub async fn provider_remove(&self, name: &str) -> Result<(), ClientError> {
        send(self.request(Method::DELETE, &["v1", "model-providers", name])).await.map(drop)
    }

    /// `POST /v1/model-providers/{name}/test`
    pub async fn provider_test(&self, name: &str) -> Result<ProviderTestView, ClientError> {
        let request = self.request(Method::POST, &["v1", "model-providers", name, "test"]);
        read_json(send(request).await?).await
    }

    /// `GET /v1/brain/models`
    pub async fn model_list(&self) -> Result<ModelsView, ClientError> {
        self.get(&["v1", "brain", "models"]).await
    }

    /// `GET /v1/brain/calls`
    pub async fn inference_list(
        &self,
        query: &InferenceQuery,
    ) -> Result<InferencesView, ClientError> {
        read_json(send(self.request(Method::GET, &["v1", "brain", "calls"]).query(query)).await?)
            .await
    }

    /// `GET /v1/brain/decisions`
    pub async fn decision_list(
        &self,
        query: &DecisionQuery,
    ) -> Result<Page<PastDecisionView>, ClientError> {
        let request = self.request(Method::GET, &["v1", "brain", "decisions"]).query(query);
        read_json(send(request).await?).await
    }

    /// `GET /v1/credentials`
    pub async fn credential_list(&self) -> Result<Vec<CredentialView>, ClientError> {
        self.get(&["v1", "credentials"]).await
    }

    /// `POST /v1/credentials`
    pub async fn credential_set(
        &self,
        body: &SetCredential,
    ) -> Result<CredentialView, ClientError> {
        self.post(&["v1", "credentials"], body).await
    }

    /// `GET /v1/credentials/{credential}`
    pub async fn credential_get(
        &self,
        credential: CredentialId,
    ) -> Result<CredentialView, ClientError> {
        self.get(&["v1", "credentials", &credential.to_string()]).await
    }

    /// `PATCH /v1/credentials/{credential}`
    pub async fn credential_update(
        &self,
        credential: CredentialId,
        body: &UpdateCredential,
    ) -> Result<CredentialView, ClientError> {
        let path = ["v1", "credentials", &credential.to_string()];
        read_json(send(self.request(Method::PATCH, &path).json(body)).await?).await
    }

    /// `POST /v1/credentials/{credential}/rotate`
    pub async fn credential_rotate(
        &self,
        credential: CredentialId,
        body: &RotateCredential,
    ) -> Result<CredentialView, ClientError> {
        self.post(&["v1", "credentials", &credential.to_string(), "rotate"], body).await
    }

    /// `DELETE /v1/credentials/{credential}`
    pub async fn credential_remove(&self, credential: CredentialId) -> Result<(), ClientError> {
        let credential = credential.to_string();
        send(self.request(Method::DELETE, &["v1", "credentials", &credential])).await.map(drop)
    }

    /// `POST /v1/credential-key/rotate`
    pub async fn credential_key_rotate(&self) -> Result<RotatedKeyView, ClientError> {
        let request = self.request(Method::POST, &["v1", "credential-key", "rotate"]);
        read_json(send(request).await?).await
    }

    /// `GET /v1/preferences`
    pub async fn preference_list(
        &self,
        query: &PreferenceQuery,
    ) -> Result<Page<PreferenceView>, ClientError> {
        read_json(send(self.request(Method::GET, &["v1", "preferences"]).query(query)).await?).await
    }

    /// `GET /v1/preferences/{key}`
    pub async fn preference_get(
        &self,
        key: &str,
        scope: &PreferenceScope,
    ) -> Result<PreferenceView, ClientError> {
        let request = self.request(Method::GET, &["v1", "preferences", key]).query(scope);
        read_json(send(request).await?).await
    }

    /// `PUT /v1/preferences/{key}`
    pub async fn preference_put(
        &self,
        key: &str,
        body: &PutPreference,
    ) -> Result<PreferenceView, ClientError> {
        let request = self.request(Method::PUT, &["v1", "preferences", key]).json(body);
        read_json(send(request).await?).await
    }

    /// `DELETE /v1/preferences/{key}`
    pub async fn preference_remove(
        &self,
        key: &str,
        scope: &PreferenceScope,
    ) -> Result<(), ClientError> {
        let request = self.request(Method::DELETE, &["v1", "preferences", key]).query(scope);
        send(request).await.map(drop)
    }

    /// `GET /v1/effective-preferences`
    pub async fn preference_effective(
        &self,
        query: &EffectiveQuery,
    ) -> Result<EffectiveView, ClientError> {
        let request = self.request(Method::GET, &["v1", "effective-preferences"]).query(query);
        read_json(send(request).await?).await
    }
}
