//! The event stream: server-sent events that resume after `Last-Event-ID`.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::response::Sse;
use axum::response::sse::{Event as SseEvent, KeepAlive};
use cynode_ops::{EventError, Events, Subscription};
use cynode_wire::events::EventQuery;
use cynode_wire::problem::Problem;
use futures_util::{Stream, stream};
use http::HeaderMap;
use tracing::warn;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::Params;
use crate::identity::User;

/// How often a silent stream shows that it lives.
const HEARTBEAT: Duration = Duration::from_secs(15);

pub(crate) fn routes(events: Events) -> OpenApiRouter {
    OpenApiRouter::new().routes(routes!(listen)).with_state(events)
}

/// Events the caller may see, as they happen.
#[utoipa::path(get, path = "/v1/events", tag = "events", params(EventQuery),
    responses((status = 200, content_type = "text/event-stream"), (status = "4XX", body = Problem)))]
async fn listen(
    State(events): State<Events>,
    User(caller): User,
    headers: HeaderMap,
    Params(query): Params<EventQuery>,
) -> Result<Sse<impl Stream<Item = Result<SseEvent, Infallible>>>, ApiError> {
    // What cannot be read as text is no id of ours either, and must not be passed over in silence.
    let last = headers.get("last-event-id").map(|value| String::from_utf8_lossy(value.as_bytes()));
    let subscription = events.subscribe(&caller, query, last.as_deref()).await?;
    let keep_alive = KeepAlive::new().interval(HEARTBEAT);
    Ok(Sse::new(stream::unfold(subscription, next)).keep_alive(keep_alive))
}

/// The next event as it goes over the wire. A stream whose database fails, or whose token no longer
/// counts, ends: the client comes back with the id of the last event it saw.
async fn next(
    mut subscription: Subscription,
) -> Option<(Result<SseEvent, Infallible>, Subscription)> {
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
                warn!(error = &error as &dyn std::error::Error, "an event stream ended");
                return None;
            }
        }
    }
}
