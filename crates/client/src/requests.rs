//! Submitted work.

use cynode_wire::page::Page;
use cynode_wire::requests::{
    AnswerRequest, HandBackUnit, InstructUnit, OverrideRequest, RequestQuery, RequestView,
    SubmitRequest, TakeOverUnit,
};
use reqwest::Method;

use crate::request::{read_json, send};
use crate::{Client, ClientError};

impl Client {
    /// `POST /v1/requests`
    pub async fn request_submit(&self, body: &SubmitRequest) -> Result<RequestView, ClientError> {
        self.post(&["v1", "requests"], body).await
    }

    /// `GET /v1/requests`
    pub async fn request_list(
        &self,
        query: &RequestQuery,
    ) -> Result<Page<RequestView>, ClientError> {
        read_json(send(self.request(Method::GET, &["v1", "requests"]).query(query)).await?).await
    }

    /// `GET /v1/requests/{request}`
    pub async fn request_get(&self, request: &str) -> Result<RequestView, ClientError> {
        read_json(send(self.request(Method::GET, &["v1", "requests", request])).await?).await
    }

    /// `POST /v1/requests/{request}/answer`
    pub async fn request_answer(
        &self,
        request: &str,
        body: &AnswerRequest,
    ) -> Result<RequestView, ClientError> {
        self.post(&["v1", "requests", request, "answer"], body).await
    }

    /// `POST /v1/requests/{request}/override`
    pub async fn request_override(
        &self,
        request: &str,
        body: &OverrideRequest,
    ) -> Result<RequestView, ClientError> {
        self.post(&["v1", "requests", request, "override"], body).await
    }

    /// `POST /v1/requests/{request}/pause`
    pub async fn request_pause(&self, request: &str) -> Result<RequestView, ClientError> {
        let path = ["v1", "requests", request, "pause"];
        read_json(send(self.request(Method::POST, &path)).await?).await
    }

    /// `POST /v1/requests/{request}/resume`
    pub async fn request_resume(&self, request: &str) -> Result<RequestView, ClientError> {
        let path = ["v1", "requests", request, "resume"];
        read_json(send(self.request(Method::POST, &path)).await?).await
    }

    /// `POST /v1/requests/{request}/take-over`
    pub async fn request_take_over(
        &self,
        request: &str,
        body: &TakeOverUnit,
    ) -> Result<RequestView, ClientError> {
        self.post(&["v1", "requests", request, "take-over"], body).await
    }

    /// `POST /v1/requests/{request}/hand-back`
    pub async fn request_hand_back(
        &self,
        request: &str,
        body: &HandBackUnit,
    ) -> Result<RequestView, ClientError> {
        self.post(&["v1", "requests", request, "hand-back"], body).await
    }

    /// `POST /v1/requests/{request}/instruct`
    pub async fn request_instruct(
        &self,
        request: &str,
        body: &InstructUnit,
    ) -> Result<RequestView, ClientError> {
        self.post(&["v1", "requests", request, "instruct"], body).await
    }
}
