//! Extractors whose refusals are problems in words.

use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::{Json, extract};
use cynode_runtime::problem::Kind;
use http::StatusCode;
use http::request::Parts;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::error::ApiError;

/// A JSON body.
pub(crate) struct Body<T>(pub(crate) T);

/// A part of the path.
pub(crate) struct Segment<T>(pub(crate) T);

/// The query string.
pub(crate) struct Params<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let text = text_of(request).await?;
        let Json(body) = Json::from_bytes(text.get().as_bytes()).map_err(unreadable)?;
        // Fields are given by name: a list would fill them by position, and mean something else
        // in the next version.
        if text.get().starts_with('{') {
            Ok(Self(body))
        } else {
            Err(ApiError::new(Kind::Validation, "body: send a JSON object"))
        }
    }
}

/// The body of a request, which is JSON; the same for every type that is made of it.
async fn text_of(request: Request) -> Result<Box<RawValue>, ApiError> {
    let Json(text) = Json::from_request(request, &()).await.map_err(unreadable)?;
    Ok(text)
}

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Segment<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let path = extract::Path::<T>::from_request_parts(parts, state).await;
        path.map(|extract::Path(value)| Self(value)).map_err(|rejection: PathRejection| {
            // A path that cannot be an id names nothing that exists.
            ApiError::new(Kind::NotFound, format!("nothing is here: {}", rejection.body_text()))
        })
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let query = extract::Query::<T>::from_request_parts(parts, state).await;
        query.map(|extract::Query(value)| Self(value)).map_err(|rejection: QueryRejection| {
            ApiError::new(Kind::Validation, format!("query: {}", rejection.body_text()))
        })
    }
}

#[expect(clippy::needless_pass_by_value, reason = "what went wrong is passed on as it comes")]
fn unreadable(rejection: JsonRejection) -> ApiError {
    match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            ApiError::new(Kind::TooLarge, "the body is larger than this route takes")
        }
        StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            ApiError::new(Kind::UnsupportedMedia, "send the body as application/json")
        }
        _ => ApiError::new(Kind::Validation, format!("body: {}", rejection.body_text())),
    }
}
