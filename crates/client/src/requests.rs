//! Submitted work.

use cynode_wire::page::Page;
use cynode_wire::requests::{
    AnswerRequest, OverrideRequest, RequestQuery, RequestView, SubmitRequest,
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
}
