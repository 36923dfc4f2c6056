//! Schedules. A `schedule` argument is an id or a name.

use cynode_wire::page::{Page, PageQuery};
use cynode_wire::schedules::{
    CreateSchedule, ScheduleQuery, ScheduleRunView, ScheduleView, UpdateSchedule,
};
use reqwest::Method;

use crate::request::{read_json, send};
use crate::{Client, ClientError};

impl Client {
    /// `POST /v1/schedules`
    pub async fn schedule_create(
        &self,
        body: &CreateSchedule,
    ) -> Result<ScheduleView, ClientError> {
        self.post(&["v1", "schedules"], body).await
    }

    /// `GET /v1/schedules`
    pub async fn schedule_list(
        &self,
        query: &ScheduleQuery,
    ) -> Result<Page<ScheduleView>, ClientError> {
        read_json(send(self.request(Method::GET, &["v1", "schedules"]).query(query)).await?).await
    }

    /// `GET /v1/schedules/{schedule}`
    pub async fn schedule_get(&self, schedule: &str) -> Result<ScheduleView, ClientError> {
        self.get(&["v1", "schedules", schedule]).await
    }

    /// `PATCH /v1/schedules/{schedule}`
    pub async fn schedule_update(
        &self,
        schedule: &str,
        body: &UpdateSchedule,
    ) -> Result<ScheduleView, ClientError> {
        let request = self.request(Method::PATCH, &["v1", "schedules", schedule]).json(body);
        read_json(send(request).await?).await
    }

    /// `DELETE /v1/schedules/{schedule}`
    pub async fn schedule_delete(&self, schedule: &str) -> Result<(), ClientError> {
        send(self.request(Method::DELETE, &["v1", "schedules", schedule])).await.map(drop)
    }

    /// `POST /v1/schedules/{schedule}/fire`
    pub async fn schedule_fire(&self, schedule: &str) -> Result<ScheduleRunView, ClientError> {
        let request = self.request(Method::POST, &["v1", "schedules", schedule, "fire"]);
        read_json(send(request).await?).await
    }

    /// `POST /v1/schedules/{schedule}/skip-next`
    pub async fn schedule_skip_next(&self, schedule: &str) -> Result<ScheduleView, ClientError> {
        let request = self.request(Method::POST, &["v1", "schedules", schedule, "skip-next"]);
        read_json(send(request).await?).await
    }

    /// `GET /v1/schedules/{schedule}/runs`
    pub async fn schedule_runs(
        &self,
        schedule: &str,
        page: &PageQuery,
    ) -> Result<Page<ScheduleRunView>, ClientError> {
        let request = self.request(Method::GET, &["v1", "schedules", schedule, "runs"]).query(page);
        read_json(send(request).await?).await
    }
}
