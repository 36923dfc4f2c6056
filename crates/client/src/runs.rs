//! Runs. A `run` argument is the id of a run, or the id or name of its task.

use cynode_domain::ids::TraceId;
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::runs::{
    AnswerRun, DecisionView, DiffQuery, DiffView, ForkRun, HistoryItem, RetryRun, RunDetail,
    RunQuery, RunView,
};
use cynode_wire::traces::{TraceListQuery, TraceQuery, TraceSummary, TraceView};
use reqwest::Method;

use crate::request::{read_json, send};
use crate::{Client, ClientError};

impl Client {
    /// `GET /v1/runs`
    pub async fn run_list(&self, query: &RunQuery) -> Result<Page<RunView>, ClientError> {
        read_json(send(self.request(Method::GET, &["v1", "runs"]).query(query)).await?).await
    }

    /// `GET /v1/runs/{run}`
    pub async fn run_get(&self, run: &str) -> Result<RunDetail, ClientError> {
        self.get(&["v1", "runs", run]).await
    }

    /// `GET /v1/traces`
    pub async fn trace_list(
        &self,
        query: &TraceListQuery,
    ) -> Result<Page<TraceSummary>, ClientError> {
        read_json(send(self.request(Method::GET, &["v1", "traces"]).query(query)).await?).await
    }

    /// `GET /v1/traces/{trace}`
    pub async fn trace_get(
        &self,
        trace: TraceId,
        query: &TraceQuery,
    ) -> Result<TraceView, ClientError> {
        let trace = trace.to_string();
        let request = self.request(Method::GET, &["v1", "traces", &trace]).query(query);
        read_json(send(request).await?).await
    }

    /// `GET /v1/runs/{run}/history`
    pub async fn run_history(
        &self,
        run: &str,
        page: &PageQuery,
    ) -> Result<Page<HistoryItem>, ClientError> {
        let request = self.request(Method::GET, &["v1", "runs", run, "history"]).query(page);
        read_json(send(request).await?).await
    }

    /// `GET /v1/runs/{run}/diff`
    pub async fn run_diff(&self, run: &str, query: &DiffQuery) -> Result<DiffView, ClientError> {
        let request = self.request(Method::GET, &["v1", "runs", run, "diff"]).query(query);
        read_json(send(request).await?).await
    }

    /// `GET /v1/runs/{run}/explain`
    pub async fn run_explain(
        &self,
        run: &str,
        page: &PageQuery,
    ) -> Result<Page<DecisionView>, ClientError> {
        let request = self.request(Method::GET, &["v1", "runs", run, "explain"]).query(page);
        read_json(send(request).await?).await
    }

    /// `POST /v1/runs/{run}/pause`
    pub async fn run_pause(&self, run: &str) -> Result<RunDetail, ClientError> {
        read_json(send(self.request(Method::POST, &["v1", "runs", run, "pause"])).await?).await
    }

    /// `POST /v1/runs/{run}/resume`
    pub async fn run_resume(&self, run: &str) -> Result<RunDetail, ClientError> {
        read_json(send(self.request(Method::POST, &["v1", "runs", run, "resume"])).await?).await
    }

    /// `POST /v1/runs/{run}/answer`
    pub async fn run_answer(&self, run: &str, body: &AnswerRun) -> Result<RunDetail, ClientError> {
        self.post(&["v1", "runs", run, "answer"], body).await
    }

    /// `POST /v1/runs/{run}/retry`
    pub async fn run_retry(&self, run: &str, body: &RetryRun) -> Result<RunDetail, ClientError> {
        self.post(&["v1", "runs", run, "retry"], body).await
    }

    /// `POST /v1/runs/{run}/fork`
    pub async fn run_fork(&self, run: &str, body: &ForkRun) -> Result<RunDetail, ClientError> {
        self.post(&["v1", "runs", run, "fork"], body).await
    }
}
