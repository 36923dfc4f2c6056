//! Knowledge.

use cynode_wire::knowledge::{
    DeleteDocumentsQuery, DeletedDocuments, DocumentQuery, DocumentView, IngestDocuments,
    IngestedDocuments, KnowledgeHits, KnowledgeOverview, KnowledgeProfileQuery,
    KnowledgeSearchQuery,
};
use cynode_wire::page::Page;
use reqwest::Method;

use crate::request::{read_json, send};
use crate::{Client, ClientError};

impl Client {
    /// `GET /v1/projects/{project}/knowledge`
    pub async fn knowledge_list(
        &self,
        project: &str,
        query: &DocumentQuery,
    ) -> Result<Page<DocumentView>, ClientError> {
        let request = self.request(Method::GET, &["v1", "projects", project, "knowledge"]);
        read_json(send(request.query(query)).await?).await
    }

    /// `POST /v1/projects/{project}/knowledge`
    pub async fn knowledge_ingest(
        &self,
        project: &str,
        profile: &KnowledgeProfileQuery,
        body: &IngestDocuments,
    ) -> Result<IngestedDocuments, ClientError> {
        let request = self.request(Method::POST, &["v1", "projects", project, "knowledge"]);
        read_json(send(request.query(profile).json(body)).await?).await
    }

    /// `DELETE /v1/projects/{project}/knowledge`
    pub async fn knowledge_delete(
        &self,
        project: &str,
        query: &DeleteDocumentsQuery,
    ) -> Result<DeletedDocuments, ClientError> {
        let request = self.request(Method::DELETE, &["v1", "projects", project, "knowledge"]);
        read_json(send(request.query(query)).await?).await
    }

    /// `GET /v1/projects/{project}/knowledge-search`
    pub async fn knowledge_search(
        &self,
        project: &str,
        query: &KnowledgeSearchQuery,
    ) -> Result<KnowledgeHits, ClientError> {
        let request = self.request(Method::GET, &["v1", "projects", project, "knowledge-search"]);
        read_json(send(request.query(query)).await?).await
    }

    /// `GET /v1/projects/{project}/knowledge-sources`
    pub async fn knowledge_overview(
        &self,
        project: &str,
        query: &KnowledgeProfileQuery,
    ) -> Result<KnowledgeOverview, ClientError> {
        let request = self.request(Method::GET, &["v1", "projects", project, "knowledge-sources"]);
        read_json(send(request.query(query)).await?).await
    }
}
