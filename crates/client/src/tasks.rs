//! Tasks, projects and artifacts. A `task` or `project` argument is an id or a name.

use bytes::Bytes;
use cynode_wire::artifacts::{
    ArtifactKind, ArtifactView, DeleteArtifacts, DeletedArtifactsView, StorageView,
};
use cynode_wire::git::{DiffQuery, PushTask, TaskDiffView};
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::projects::{CreateProject, ProjectView, UpdateProject};
use cynode_wire::tasks::{
    AddDependency, CanceledView, CreateTask, LogQuery, LogsView, ResultView, TaskQuery, TaskView,
    TransitionView, UpdateTask,
};
use reqwest::Method;

use crate::request::{read_json, send, unreachable_error};
use crate::{Client, ClientError};

impl Client {
    /// `POST /v1/tasks`
    pub async fn task_create(&self, body: &CreateTask) -> Result<TaskView, ClientError> {
        self.post(&["v1", "tasks"], body).await
    }

    /// `POST /v1/tasks/{task}/push`
    pub async fn task_push(&self, task: &str, body: &PushTask) -> Result<TaskView, ClientError> {
        self.post(&["v1", "tasks", task, "push"], body).await
    }

    /// `GET /v1/tasks`
    pub async fn task_list(&self, query: &TaskQuery) -> Result<Page<TaskView>, ClientError> {
        read_json(send(self.request(Method::GET, &["v1", "tasks"]).query(query)).await?).await
    }

    /// `GET /v1/tasks/{task}`
    pub async fn task_get(&self, task: &str) -> Result<TaskView, ClientError> {
        self.get(&["v1", "tasks", task]).await
    }

    /// `PATCH /v1/tasks/{task}`
    pub async fn task_update(
        &self,
        task: &str,
        body: &UpdateTask,
    ) -> Result<TaskView, ClientError> {
        read_json(send(self.request(Method::PATCH, &["v1", "tasks", task]).json(body)).await?).await
    }

    /// `GET /v1/tasks/{task}/result`
    pub async fn task_result(&self, task: &str) -> Result<ResultView, ClientError> {
        self.get(&["v1", "tasks", task, "result"]).await
    }

    /// `GET /v1/tasks/{task}/logs`
    pub async fn task_logs(&self, task: &str, query: &LogQuery) -> Result<LogsView, ClientError> {
        let request = self.request(Method::GET, &["v1", "tasks", task, "logs"]).query(query);
        read_json(send(request).await?).await
    }

    /// `GET /v1/tasks/{task}/history`
    pub async fn task_history(&self, task: &str) -> Result<Vec<TransitionView>, ClientError> {
        self.get(&["v1", "tasks", task, "history"]).await
    }

    /// `POST /v1/tasks/{task}/cancel`
    pub async fn task_cancel(&self, task: &str) -> Result<CanceledView, ClientError> {
        read_json(send(self.request(Method::POST, &["v1", "tasks", task, "cancel"])).await?).await
    }

    /// `POST /v1/tasks/{task}/dependencies`
    pub async fn dependency_add(
        &self,
        task: &str,
        body: &AddDependency,
    ) -> Result<TaskView, ClientError> {
        self.post(&["v1", "tasks", task, "dependencies"], body).await
    }

    /// `GET /v1/tasks/{task}/artifacts`
    pub async fn artifact_list(&self, task: &str) -> Result<Vec<ArtifactView>, ClientError> {
        self.get(&["v1", "tasks", task, "artifacts"]).await
    }

    /// `GET /v1/tasks/{task}/artifacts/content?path=…`
    pub async fn artifact_content(&self, task: &str, path: &str) -> Result<Bytes, ClientError> {
        let request = self
            .request(Method::GET, &["v1", "tasks", task, "artifacts", "content"])
            .query(&[("path", path)]);
        send(request).await?.bytes().await.map_err(unreachable_error)
    }

    /// `GET /v1/tasks/{task}/artifacts/content?kind=…&path=…`
    pub async fn artifact_content_of_kind(
        &self,
        task: &str,
        kind: ArtifactKind,
        path: &str,
    ) -> Result<Bytes, ClientError> {
        let request = self
            .request(Method::GET, &["v1", "tasks", task, "artifacts", "content"])
            .query(&[("kind", kind.as_str()), ("path", path)]);
        send(request).await?.bytes().await.map_err(unreachable_error)
    }

    /// `GET /v1/tasks/{task}/diff`
    pub async fn task_diff(&self, task: &str) -> Result<TaskDiffView, ClientError> {
        self.get(&["v1", "tasks", task, "diff"]).await
    }

    /// `GET /v1/tasks/{task}/diff`, with the changes of the tasks that it builds on
    pub async fn task_diff_all(&self, task: &str) -> Result<TaskDiffView, ClientError> {
        let request = self.request(Method::GET, &["v1", "tasks", task, "diff"]);
        read_json(send(request.query(&DiffQuery { all: true })).await?).await
    }

    /// `POST /v1/tasks/{task}/artifacts/delete`
    pub async fn artifact_delete(
        &self,
        task: &str,
        body: &DeleteArtifacts,
    ) -> Result<DeletedArtifactsView, ClientError> {
        self.post(&["v1", "tasks", task, "artifacts", "delete"], body).await
    }

    /// `GET /v1/storage`
    pub async fn storage_usage(&self) -> Result<StorageView, ClientError> {
        self.get(&["v1", "storage"]).await
    }

    /// `POST /v1/projects`
    pub async fn project_create(&self, body: &CreateProject) -> Result<ProjectView, ClientError> {
        self.post(&["v1", "projects"], body).await
    }

    /// `GET /v1/projects`
    pub async fn project_list(&self, page: &PageQuery) -> Result<Page<ProjectView>, ClientError> {
        read_json(send(self.request(Method::GET, &["v1", "projects"]).query(page)).await?).await
    }

    /// `GET /v1/projects/{project}`
    pub async fn project_get(&self, project: &str) -> Result<ProjectView, ClientError> {
        self.get(&["v1", "projects", project]).await
    }

    /// `PATCH /v1/projects/{project}`
    pub async fn project_update(
        &self,
        project: &str,
        body: &UpdateProject,
    ) -> Result<ProjectView, ClientError> {
        let request = self.request(Method::PATCH, &["v1", "projects", project]).json(body);
        read_json(send(request).await?).await
    }
}
