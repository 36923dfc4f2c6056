//! Notifications: channels, deliveries, and the mail server.

use axum::Json;
use axum::extract::State;
use cynode_domain::ids::NoticeDeliveryId;
use cynode_notifications::Notifications;
use cynode_wire::notifications::{
    ChannelList, ChannelView, CreateChannel, CreatedChannel, DeliveryQuery, DeliveryView,
    PurgeDeliveries, PurgedDeliveries, SmtpSettings, SmtpView, UpdateChannel,
};
use cynode_wire::page::Page;
use cynode_wire::problem::Problem;
use http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{JsonBody, PathSegment, QueryParams};
use crate::identity::AuthenticatedUser;
use crate::state::ApiState;

pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(create_channel, list_channels))
        .routes(routes!(update_channel, remove_channel))
        .routes(routes!(test_channel))
        .routes(routes!(list_deliveries))
        .routes(routes!(retry_delivery))
        .routes(routes!(purge_deliveries))
        .routes(routes!(get_smtp, set_smtp, remove_smtp))
}

/// Creates a channel through which the caller is notified of what needs a person and of requests that end. The secret of a
/// webhook is returned only here.
#[utoipa::path(post, path = "/v1/notifications/channels", tag = "notifications", request_body = CreateChannel,
    responses((status = 201, body = CreatedChannel), (status = "4XX", body = Problem)))]
async fn create_channel(
    State(notifications): State<Notifications>,
    AuthenticatedUser(caller): AuthenticatedUser,
    JsonBody(body): JsonBody<CreateChannel>,
) -> Result<(StatusCode, Json<CreatedChannel>), ApiError> {
    Ok((StatusCode::CREATED, Json(notifications.create_channel(&caller, body).await?)))
}

/// Lists the caller's channels with how their last attempts ended.
#[utoipa::path(get, path = "/v1/notifications/channels", tag = "notifications",
    responses((status = 200, body = ChannelList), (status = "4XX", body = Problem)))]
async fn list_channels(
    State(notifications): State<Notifications>,
    AuthenticatedUser(caller): AuthenticatedUser,
) -> Result<Json<ChannelList>, ApiError> {
    Ok(Json(ChannelList { items: notifications.list_channels(&caller).await? }))
}

/// Enables or disables a channel.
#[utoipa::path(patch, path = "/v1/notifications/channels/{channel}", tag = "notifications", request_body = UpdateChannel,
    params(("channel" = String, Path, description = "id or name")),
    responses((status = 200, body = ChannelView), (status = "4XX", body = Problem)))]
async fn update_channel(
    State(notifications): State<Notifications>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(channel): PathSegment<String>,
    JsonBody(body): JsonBody<UpdateChannel>,
) -> Result<Json<ChannelView>, ApiError> {
    Ok(Json(notifications.update_channel(&caller, &channel, body).await?))
}

/// Removes a channel with its deliveries.
#[utoipa::path(delete, path = "/v1/notifications/channels/{channel}", tag = "notifications",
    params(("channel" = String, Path, description = "id or name")),
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn remove_channel(
    State(notifications): State<Notifications>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(channel): PathSegment<String>,
) -> Result<StatusCode, ApiError> {
    notifications.remove_channel(&caller, &channel).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Sends a test through a channel at once; 503 if it is not delivered.
#[utoipa::path(post, path = "/v1/notifications/channels/{channel}/test", tag = "notifications",
    params(("channel" = String, Path, description = "id or name")),
    responses((status = 204), (status = "4XX", body = Problem), (status = "5XX", body = Problem)))]
async fn test_channel(
    State(notifications): State<Notifications>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(channel): PathSegment<String>,
) -> Result<StatusCode, ApiError> {
    notifications.test_channel(&caller, &channel).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Lists the caller's deliveries, newest first.
#[utoipa::path(get, path = "/v1/notifications/deliveries", tag = "notifications", params(DeliveryQuery),
    responses((status = 200, body = Page<DeliveryView>), (status = "4XX", body = Problem)))]
async fn list_deliveries(
    State(notifications): State<Notifications>,
    AuthenticatedUser(caller): AuthenticatedUser,
    QueryParams(query): QueryParams<DeliveryQuery>,
) -> Result<Json<Page<DeliveryView>>, ApiError> {
    Ok(Json(notifications.list_deliveries(&caller, query).await?))
}

/// Delivers a dead delivery again, with the same id.
#[utoipa::path(post, path = "/v1/notifications/deliveries/{delivery}/retry", tag = "notifications",
    params(("delivery" = NoticeDeliveryId, Path, description = "id of the delivery")),
    responses((status = 200, body = DeliveryView), (status = "4XX", body = Problem)))]
async fn retry_delivery(
    State(notifications): State<Notifications>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(delivery): PathSegment<NoticeDeliveryId>,
) -> Result<Json<DeliveryView>, ApiError> {
    Ok(Json(notifications.retry_delivery(&caller, delivery).await?))
}

/// Deletes the caller's dead deliveries.
#[utoipa::path(post, path = "/v1/notifications/deliveries/purge", tag = "notifications", request_body = PurgeDeliveries,
    responses((status = 200, body = PurgedDeliveries), (status = "4XX", body = Problem)))]
async fn purge_deliveries(
    State(notifications): State<Notifications>,
    AuthenticatedUser(caller): AuthenticatedUser,
    JsonBody(body): JsonBody<PurgeDeliveries>,
) -> Result<Json<PurgedDeliveries>, ApiError> {
    Ok(Json(notifications.purge_deliveries(&caller, body).await?))
}

/// Returns the mail server without its password. Administrators only.
#[utoipa::path(get, path = "/v1/notifications/smtp", tag = "notifications",
    responses((status = 200, body = SmtpView), (status = "4XX", body = Problem)))]
async fn get_smtp(
    State(notifications): State<Notifications>,
    AuthenticatedUser(caller): AuthenticatedUser,
) -> Result<Json<SmtpView>, ApiError> {
    Ok(Json(notifications.get_mail_server(&caller).await?))
}

/// Sets the mail server. Administrators only.
#[utoipa::path(put, path = "/v1/notifications/smtp", tag = "notifications", request_body = SmtpSettings,
    responses((status = 200, body = SmtpView), (status = "4XX", body = Problem)))]
async fn set_smtp(
    State(notifications): State<Notifications>,
    AuthenticatedUser(caller): AuthenticatedUser,
    JsonBody(body): JsonBody<SmtpSettings>,
) -> Result<Json<SmtpView>, ApiError> {
    Ok(Json(notifications.set_mail_server(&caller, body).await?))
}

/// Removes the mail server. Administrators only.
#[utoipa::path(delete, path = "/v1/notifications/smtp", tag = "notifications",
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn remove_smtp(
    State(notifications): State<Notifications>,
    AuthenticatedUser(caller): AuthenticatedUser,
) -> Result<StatusCode, ApiError> {
    notifications.remove_mail_server(&caller).await?;
    Ok(StatusCode::NO_CONTENT)
}
