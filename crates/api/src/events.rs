//! The event stream: server-sent events that resume after `Last-Event-ID`.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::response::Sse;
use axum::response::sse::{Event as SseEvent, KeepAlive};
use cynode_runs::{EventError, EventService, EventSubscription};
use cynode_wire::events::EventQuery;
use cynode_wire::problem::Problem;
use futures_util::{Stream, stream};
use http::HeaderMap;
use tracing::warn;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::QueryParams;
use crate::identity::AuthenticatedUser;
use crate::state::ApiState;

/// Interval of keep-alive comments.
const HEARTBEAT: Duration = Duration::from_secs(15);

pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(listen))
}

/// Streams the events that the caller may see.
#[utoipa::path(get, path = "/v1/events", tag = "events", params(EventQuery),
    responses((status = 200, content_type = "text/event-stream"), (status = "4XX", body = Problem)))]
async fn listen(
    State(events): State<EventService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    headers: HeaderMap,
    QueryParams(query): QueryParams<EventQuery>,
) -> Result<Sse<impl Stream<Item = Result<SseEvent, Infallible>>>, ApiError> {
    // A header that is not UTF-8 is an invalid id and must be rejected, not ignored.
    let last = headers.get("last-event-id").map(|value| String::from_utf8_lossy(value.as_bytes()));
    let subscription = events.subscribe(&caller, query, last.as_deref()).await?;
    let keep_alive = KeepAlive::new().interval(HEARTBEAT);
    Ok(Sse::new(stream::unfold(subscription, next_event)).keep_alive(keep_alive))
}

/// Renders the next event. The stream ends if the database fails or the token becomes invalid; the
/// client reconnects with the id of the last event it received.
async fn next_event(
    mut subscription: EventSubscription,
) -> Option<(Result<SseEvent, Infallible>, EventSubscription)> {
    loop {
        match subscription.next(HEARTBEAT).await {
            Ok(Some(event)) => {
                let data = serde_json::to_string(&event).unwrap_or_default();
                let sse = SseEvent::default().id(event.id).event(event.kind).data(data);
                return Some((Ok(sse), subscription));
            }
            Ok(None) => {}
            Err(EventError::BadToken) => return None,
            Err(
                error @ (EventError::BadCursor(_) | EventError::Task(_) | EventError::Store(_)),
            ) => {
                warn!(error = &error as &dyn std::error::Error, "event stream ended");
                return None;
            }
        }
    }
}
