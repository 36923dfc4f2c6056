//! Profiles of projects.

use cynode_wire::profiles::{CreateProfile, ProfileView, UpdateProfile};
use reqwest::Method;

use crate::request::{read_json, send};
use crate::{Client, ClientError};

impl Client {
    /// `GET /v1/projects/{project}/profiles`
    pub async fn profile_list(&self, project: &str) -> Result<Vec<ProfileView>, ClientError> {
        self.get(&["v1", "projects", project, "profiles"]).await
    }

    /// `GET /v1/projects/{project}/profiles/{profile}`
    pub async fn profile_get(
        &self,
        project: &str,
        profile: &str,
    ) -> Result<ProfileView, ClientError> {
        self.get(&["v1", "projects", project, "profiles", profile]).await
    }

    /// `POST /v1/projects/{project}/profiles`
    pub async fn profile_create(
        &self,
        project: &str,
        body: &CreateProfile,
    ) -> Result<ProfileView, ClientError> {
        self.post(&["v1", "projects", project, "profiles"], body).await
    }

    /// `PUT /v1/projects/{project}/profiles/{profile}`
    pub async fn profile_update(
        &self,
        project: &str,
        profile: &str,
        body: &UpdateProfile,
    ) -> Result<ProfileView, ClientError> {
        let path = ["v1", "projects", project, "profiles", profile];
        read_json(send(self.request(Method::PUT, &path).json(body)).await?).await
    }

    /// `DELETE /v1/projects/{project}/profiles/{profile}`
    pub async fn profile_delete(&self, project: &str, profile: &str) -> Result<(), ClientError> {
        let path = ["v1", "projects", project, "profiles", profile];
        send(self.request(Method::DELETE, &path)).await.map(drop)
    }
}
