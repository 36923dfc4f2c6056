//! The node API, and administration of nodes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use cynode_domain::ids::{JobId, TaskId, TokenId};
use cynode_domain::trace::TraceEvents;
use cynode_wire::agent_profiles::CanaryReport;
use cynode_wire::artifacts::ArtifactView;
use cynode_wire::git::{BundleQuery, GitCredentialView};
use cynode_wire::jobs::{JobResult, Stream};
use cynode_wire::nodes::{
    AppendLog, AskWorkspaces, CreateJoinToken, Incarnation, JobAgentToken, JoinTokenView,
    LogPosition, NewJoinTokenView, NodeView, Poll, PollView, RecordConnection, RegisterNode,
    RegisteredView, WorkspacesView,
};
use cynode_wire::page::{Page, PageQuery};
use reqwest::Method;

use crate::request::{read_json, send, unreachable_error};
use crate::{Client, ClientError};

impl Client {
    /// `POST /v1/nodes/register`, authenticated with the join token.
    pub async fn node_register(&self, body: &RegisterNode) -> Result<RegisteredView, ClientError> {
        self.post(&["v1", "nodes", "register"], body).await
    }

    /// `POST /v1/nodes/join-tokens`
    pub async fn join_token_create(
        &self,
        body: &CreateJoinToken,
    ) -> Result<NewJoinTokenView, ClientError> {
        self.post(&["v1", "nodes", "join-tokens"], body).await
    }

    /// `GET /v1/nodes/join-tokens`
    pub async fn join_token_list(
        &self,
        page: &PageQuery,
    ) -> Result<Page<JoinTokenView>, ClientError> {
        let request = self.request(Method::GET, &["v1", "nodes", "join-tokens"]).query(page);
        read_json(send(request).await?).await
    }

    /// `DELETE /v1/nodes/join-tokens/{token}`
    pub async fn join_token_revoke(&self, token: TokenId) -> Result<(), ClientError> {
        let path = ["v1", "nodes", "join-tokens", &token.to_string()];
        send(self.request(Method::DELETE, &path)).await.map(drop)
    }

    /// `POST /v1/nodes/{node}/rotate-key`
    pub async fn node_rotate_key(&self, node: &str) -> Result<NewJoinTokenView, ClientError> {
        self.post(&["v1", "nodes", node, "rotate-key"], &serde_json::json!({})).await
    }

    /// `DELETE /v1/nodes/{node}`
    pub async fn node_remove(&self, node: &str) -> Result<(), ClientError> {
        send(self.request(Method::DELETE, &["v1", "nodes", node])).await.map(drop)
    }

    /// `POST /v1/node/start`: this process takes the node's name.
    pub async fn node_start(&self, body: &Incarnation) -> Result<(), ClientError> {
        self.post_empty(&["v1", "node", "start"], body).await
    }

    /// `POST /v1/node/stop`: releases the node's name.
    pub async fn node_stop(&self) -> Result<(), ClientError> {
        self.post_empty(&["v1", "node", "stop"], &serde_json::json!({})).await
    }

    /// `POST /v1/node/workspaces`
    pub async fn node_workspaces(
        &self,
        body: &AskWorkspaces,
    ) -> Result<WorkspacesView, ClientError> {
        self.post(&["v1", "node", "workspaces"], body).await
    }

    /// `POST /v1/node/poll`
    pub async fn node_poll(&self, body: &Poll) -> Result<PollView, ClientError> {
        self.post(&["v1", "node", "poll"], body).await
    }

    /// `POST /v1/node/jobs/{job}/logs`; idempotent.
    pub async fn node_append_log(
        &self,
        job: JobId,
        stream: Stream,
        offset: u64,
        data: &[u8],
    ) -> Result<LogPosition, ClientError> {
        let body = AppendLog { stream, offset, data_base64: STANDARD.encode(data) };
        self.post(&["v1", "node", "jobs", &job.to_string(), "logs"], &body).await
    }

    /// `POST /v1/node/jobs/{job}/agent-token`
    pub async fn node_agent_token(&self, job: JobId) -> Result<JobAgentToken, ClientError> {
        let segments = ["v1", "node", "jobs", &job.to_string(), "agent-token"];
        read_json(send(self.request(Method::POST, &segments)).await?).await
    }

    /// `POST /v1/node/jobs/{job}/connections`
    pub async fn node_record_connection(
        &self,
        job: JobId,
        connection: &RecordConnection,
    ) -> Result<(), ClientError> {
        let segments = ["v1", "node", "jobs", &job.to_string(), "connections"];
        send(self.request(Method::POST, &segments).json(connection)).await.map(drop)
    }

    /// `PUT /v1/node/jobs/{job}/trace`; idempotent.
    pub async fn node_record_trace(
        &self,
        job: JobId,
        events: &TraceEvents,
    ) -> Result<(), ClientError> {
        let segments = ["v1", "node", "jobs", &job.to_string(), "trace"];
        send(self.request(Method::PUT, &segments).json(events)).await.map(drop)
    }

    /// `POST /v1/node/jobs/{job}/git-credential`
    pub async fn node_lease_git_credential(
        &self,
        job: JobId,
    ) -> Result<GitCredentialView, ClientError> {
        let segments = ["v1", "node", "jobs", &job.to_string(), "git-credential"];
        read_json(send(self.request(Method::POST, &segments)).await?).await
    }

    /// `PUT /v1/node/jobs/{job}/artifacts?path=…`; idempotent.
    pub async fn node_put_artifact(
        &self,
        job: JobId,
        path: &str,
        content: reqwest::Body,
    ) -> Result<ArtifactView, ClientError> {
        let request = self
            .request(Method::PUT, &["v1", "node", "jobs", &job.to_string(), "artifacts"])
            .query(&[("path", path)])
            .body(content);
        read_json(send(request).await?).await
    }

    /// `PUT /v1/node/jobs/{job}/changes/{file}`; idempotent.
    pub async fn node_put_changes(
        &self,
        job: JobId,
        file: &str,
        content: reqwest::Body,
    ) -> Result<ArtifactView, ClientError> {
        let segments = ["v1", "node", "jobs", &job.to_string(), "changes", file];
        read_json(send(self.request(Method::PUT, &segments).body(content)).await?).await
    }

    /// `PUT /v1/node/jobs/{job}/canary`; idempotent.
    pub async fn node_report_canary(
        &self,
        job: JobId,
        report: &CanaryReport,
    ) -> Result<(), ClientError> {
        let segments = ["v1", "node", "jobs", &job.to_string(), "canary"];
        send(self.request(Method::PUT, &segments).json(report)).await.map(drop)
    }

    /// `GET /v1/node/jobs/{job}/attachments/{name}`
    pub async fn node_get_attachment(&self, job: JobId, name: &str) -> Result<Bytes, ClientError> {
        let segments = ["v1", "node", "jobs", &job.to_string(), "attachments", name];
        send(self.request(Method::GET, &segments)).await?.bytes().await.map_err(unreachable_error)
    }

    /// `GET /v1/node/jobs/{job}/bundle`
    pub async fn node_get_bundle(&self, job: JobId) -> Result<Bytes, ClientError> {
        let segments = ["v1", "node", "jobs", &job.to_string(), "bundle"];
        send(self.request(Method::GET, &segments)).await?.bytes().await.map_err(unreachable_error)
    }

    /// `GET /v1/node/jobs/{job}/bundle`, of a task that the job builds on
    pub async fn node_get_source_bundle(
        &self,
        job: JobId,
        source: TaskId,
    ) -> Result<Bytes, ClientError> {
        let segments = ["v1", "node", "jobs", &job.to_string(), "bundle"];
        let request = self.request(Method::GET, &segments);
        let request = request.query(&BundleQuery { source: Some(source) });
        send(request).await?.bytes().await.map_err(unreachable_error)
    }

    /// `POST /v1/node/jobs/{job}/result`; idempotent.
    pub async fn node_finish(&self, job: JobId, result: &JobResult) -> Result<(), ClientError> {
        self.post_empty(&["v1", "node", "jobs", &job.to_string(), "result"], result).await
    }

    /// `GET /v1/nodes`
    pub async fn node_list(&self) -> Result<Vec<NodeView>, ClientError> {
        self.get(&["v1", "nodes"]).await
    }

    /// `GET /v1/nodes/{node}`
    pub async fn node_get(&self, node: &str) -> Result<NodeView, ClientError> {
        self.get(&["v1", "nodes", node]).await
    }

    /// `POST /v1/nodes/{node}/drain`: running jobs finish, no new ones start.
    pub async fn node_drain(&self, node: &str) -> Result<NodeView, ClientError> {
        read_json(send(self.request(Method::POST, &["v1", "nodes", node, "drain"])).await?).await
    }

    /// `POST /v1/nodes/{node}/enable`: new jobs start again.
    pub async fn node_enable(&self, node: &str) -> Result<NodeView, ClientError> {
        read_json(send(self.request(Method::POST, &["v1", "nodes", node, "enable"])).await?).await
    }
}
