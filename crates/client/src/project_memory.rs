//! Project memory.

use cynode_domain::ids::MemoryEntryId;
use cynode_wire::page::Page;
use cynode_wire::project_memory::{
    AddMemoryEntry, MemoryEntryView, MemoryMatches, MemoryProfileQuery, MemoryQuery,
    MemorySearchQuery, UpdateMemoryEntry,
};
use reqwest::Method;

use crate::request::{read_json, send};
use crate::{Client, ClientError};

impl Client {
    /// `GET /v1/projects/{project}/memory`
    pub async fn memory_list(
        &self,
        project: &str,
        query: &MemoryQuery,
    ) -> Result<Page<MemoryEntryView>, ClientError> {
        let request = self.request(Method::GET, &["v1", "projects", project, "memory"]);
        read_json(send(request.query(query)).await?).await
    }

    /// `POST /v1/projects/{project}/memory`
    pub async fn memory_add(
        &self,
        project: &str,
        profile: &MemoryProfileQuery,
        body: &AddMemoryEntry,
    ) -> Result<MemoryEntryView, ClientError> {
        let request = self.request(Method::POST, &["v1", "projects", project, "memory"]);
        read_json(send(request.query(profile).json(body)).await?).await
    }

    /// `GET /v1/projects/{project}/memory-search`
    pub async fn memory_search(
        &self,
        project: &str,
        query: &MemorySearchQuery,
    ) -> Result<MemoryMatches, ClientError> {
        let request = self.request(Method::GET, &["v1", "projects", project, "memory-search"]);
        read_json(send(request.query(query)).await?).await
    }

    /// `GET /v1/projects/{project}/memory/{entry}`
    pub async fn memory_get(
        &self,
        project: &str,
        profile: &MemoryProfileQuery,
        entry: MemoryEntryId,
    ) -> Result<MemoryEntryView, ClientError> {
        let path = ["v1", "projects", project, "memory", &entry.to_string()];
        read_json(send(self.request(Method::GET, &path).query(profile)).await?).await
    }

    /// `PATCH /v1/projects/{project}/memory/{entry}`
    pub async fn memory_update(
        &self,
        project: &str,
        profile: &MemoryProfileQuery,
        entry: MemoryEntryId,
        body: &UpdateMemoryEntry,
    ) -> Result<MemoryEntryView, ClientError> {
        let path = ["v1", "projects", project, "memory", &entry.to_string()];
        let request = self.request(Method::PATCH, &path).query(profile).json(body);
        read_json(send(request).await?).await
    }

    /// `DELETE /v1/projects/{project}/memory/{entry}`
    pub async fn memory_delete(
        &self,
        project: &str,
        profile: &MemoryProfileQuery,
        entry: MemoryEntryId,
    ) -> Result<(), ClientError> {
        let path = ["v1", "projects", project, "memory", &entry.to_string()];
        send(self.request(Method::DELETE, &path).query(profile)).await.map(drop)
    }
}
