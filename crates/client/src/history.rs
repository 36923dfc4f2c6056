//! Change histories and audit records.

use cynode_domain::ids::{CredentialId, InferenceId, RuleId};
use cynode_wire::audit::{ChatRecordQuery, ChatRecordView};
use cynode_wire::changes::{ChangeQuery, ChangeView};
use cynode_wire::inferences::InferenceDetailView;
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::preferences::PreferenceChangesQuery;
use reqwest::Method;
use serde::Serialize;

use crate::request::{read_json, send};
use crate::{Client, ClientError};

impl Client {
    /// `GET /v1/preferences/{key}/changes`
    pub async fn preference_changes(
        &self,
        key: &str,
        query: &PreferenceChangesQuery,
    ) -> Result<Page<ChangeView>, ClientError> {
        self.changes(&["v1", "preferences", key, "changes"], query).await
    }

    /// `GET /v1/settings/{key}/changes`
    pub async fn setting_changes(
        &self,
        key: &str,
        page: &PageQuery,
    ) -> Result<Page<ChangeView>, ClientError> {
        self.changes(&["v1", "settings", key, "changes"], page).await
    }

    /// `GET /v1/rules/{rule}/changes`
    pub async fn rule_changes(
        &self,
        rule: RuleId,
        page: &PageQuery,
    ) -> Result<Page<ChangeView>, ClientError> {
        self.changes(&["v1", "rules", &rule.to_string(), "changes"], page).await
    }

    /// `GET /v1/credentials/{credential}/changes`
    pub async fn credential_changes(
        &self,
        credential: CredentialId,
        page: &PageQuery,
    ) -> Result<Page<ChangeView>, ClientError> {
        self.changes(&["v1", "credentials", &credential.to_string(), "changes"], page).await
    }

    /// `GET /v1/model-providers/{name}/changes`
    pub async fn provider_changes(
        &self,
        name: &str,
        page: &PageQuery,
    ) -> Result<Page<ChangeView>, ClientError> {
        self.changes(&["v1", "model-providers", name, "changes"], page).await
    }

    /// `GET /v1/audit/changes`
    pub async fn access_changes(
        &self,
        query: &ChangeQuery,
    ) -> Result<Page<ChangeView>, ClientError> {
        self.changes(&["v1", "audit", "changes"], query).await
    }

    /// `GET /v1/audit/chat`
    pub async fn chat_records(
        &self,
        query: &ChatRecordQuery,
    ) -> Result<Page<ChatRecordView>, ClientError> {
        read_json(send(self.request(Method::GET, &["v1", "audit", "chat"]).query(query)).await?)
            .await
    }

    /// `GET /v1/brain/calls/{call}`
    pub async fn inference_get(
        &self,
        call: InferenceId,
    ) -> Result<InferenceDetailView, ClientError> {
        self.get(&["v1", "brain", "calls", &call.to_string()]).await
    }

    async fn changes(
        &self,
        path: &[&str],
        query: &(impl Serialize + Sync),
    ) -> Result<Page<ChangeView>, ClientError> {
        read_json(send(self.request(Method::GET, path).query(query)).await?).await
    }
}
