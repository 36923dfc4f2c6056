//! Forges of projects' repositories.

use cynode_domain::ids::ForgeId;
use cynode_wire::forges::{ForgeView, SetForge, SubmitIssue};
use cynode_wire::requests::RequestView;
use reqwest::Method;

use crate::request::{read_json, send};
use crate::{Client, ClientError};

impl Client {
    /// `PUT /v1/projects/{project}/forges`
    pub async fn forge_set(
        &self,
        project: &str,
        body: &SetForge,
    ) -> Result<ForgeView, ClientError> {
        let path = ["v1", "projects", project, "forges"];
        read_json(send(self.request(Method::PUT, &path).json(body)).await?).await
    }

    /// `GET /v1/projects/{project}/forges`
    pub async fn forge_list(&self, project: &str) -> Result<Vec<ForgeView>, ClientError> {
        self.get(&["v1", "projects", project, "forges"]).await
    }

    /// `DELETE /v1/forges/{forge}`
    pub async fn forge_remove(&self, forge: ForgeId) -> Result<(), ClientError> {
        let path = ["v1", "forges", &forge.to_string()];
        send(self.request(Method::DELETE, &path)).await.map(drop)
    }

    /// `POST /v1/issues`
    pub async fn issue_submit(&self, body: &SubmitIssue) -> Result<RequestView, ClientError> {
        self.post(&["v1", "issues"], body).await
    }
}
