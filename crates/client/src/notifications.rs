//! Notifications: channels, deliveries, and the mail server.

use cynode_domain::ids::NoticeDeliveryId;
use cynode_wire::notifications::{
    ChannelList, ChannelView, CreateChannel, CreatedChannel, DeliveryQuery, DeliveryView,
    PurgeDeliveries, PurgedDeliveries, SmtpSettings, SmtpView, UpdateChannel,
};
use cynode_wire::page::Page;
use reqwest::Method;

use crate::request::{read_json, send};
use crate::{Client, ClientError};

const CHANNELS: [&str; 3] = ["v1", "notifications", "channels"];
const DELIVERIES: [&str; 3] = ["v1", "notifications", "deliveries"];
const SMTP: [&str; 3] = ["v1", "notifications", "smtp"];

impl Client {
    /// `POST /v1/notifications/channels`
    pub async fn channel_create(
        &self,
        body: &CreateChannel,
    ) -> Result<CreatedChannel, ClientError> {
        self.post(&CHANNELS, body).await
    }

    /// `GET /v1/notifications/channels`
    pub async fn channel_list(&self) -> Result<ChannelList, ClientError> {
        read_json(send(self.request(Method::GET, &CHANNELS)).await?).await
    }

    /// `PATCH /v1/notifications/channels/{channel}`
    pub async fn channel_update(
        &self,
        channel: &str,
        body: &UpdateChannel,
    ) -> Result<ChannelView, ClientError> {
        let path = ["v1", "notifications", "channels", channel];
        read_json(send(self.request(Method::PATCH, &path).json(body)).await?).await
    }

    /// `DELETE /v1/notifications/channels/{channel}`
    pub async fn channel_remove(&self, channel: &str) -> Result<(), ClientError> {
        let path = ["v1", "notifications", "channels", channel];
        send(self.request(Method::DELETE, &path)).await.map(drop)
    }

    /// `POST /v1/notifications/channels/{channel}/test`
    pub async fn channel_test(&self, channel: &str) -> Result<(), ClientError> {
        let path = ["v1", "notifications", "channels", channel, "test"];
        send(self.request(Method::POST, &path)).await.map(drop)
    }

    /// `GET /v1/notifications/deliveries`
    pub async fn delivery_list(
        &self,
        query: &DeliveryQuery,
    ) -> Result<Page<DeliveryView>, ClientError> {
        read_json(send(self.request(Method::GET, &DELIVERIES).query(query)).await?).await
    }

    /// `POST /v1/notifications/deliveries/{delivery}/retry`
    pub async fn delivery_retry(
        &self,
        delivery: NoticeDeliveryId,
    ) -> Result<DeliveryView, ClientError> {
        let path = ["v1", "notifications", "deliveries", &delivery.to_string(), "retry"];
        read_json(send(self.request(Method::POST, &path)).await?).await
    }

    /// `POST /v1/notifications/deliveries/purge`
    pub async fn delivery_purge(
        &self,
        body: &PurgeDeliveries,
    ) -> Result<PurgedDeliveries, ClientError> {
        self.post(&["v1", "notifications", "deliveries", "purge"], body).await
    }

    /// `GET /v1/notifications/smtp`
    pub async fn smtp_get(&self) -> Result<SmtpView, ClientError> {
        read_json(send(self.request(Method::GET, &SMTP)).await?).await
    }

    /// `PUT /v1/notifications/smtp`
    pub async fn smtp_set(&self, body: &SmtpSettings) -> Result<SmtpView, ClientError> {
        read_json(send(self.request(Method::PUT, &SMTP).json(body)).await?).await
    }

    /// `DELETE /v1/notifications/smtp`
    pub async fn smtp_remove(&self) -> Result<(), ClientError> {
        send(self.request(Method::DELETE, &SMTP)).await.map(drop)
    }
}
