//! Extractors whose rejections are problems.

use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::{Json, extract};
use cynode_runtime::problem::ProblemKind;
use http::StatusCode;
use http::request::Parts;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::error::ApiError;

/// A JSON body.
pub(crate) struct JsonBody<T>(pub(crate) T);

/// A part of the path.
pub(crate) struct PathSegment<T>(pub(crate) T);

/// The query string.
pub(crate) struct QueryParams<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let text = read_json_text(request).await?;
        let Json(body) = Json::from_bytes(text.get().as_bytes()).map_err(json_rejection)?;
        // Fields are given by name: serde would fill them from an array by position, which
        // another version may order differently.
        if text.get().starts_with('{') {
            Ok(Self(body))
        } else {
            Err(ApiError::new(ProblemKind::Validation, "body: send a JSON object"))
        }
    }
}

/// Reads the JSON body. Not generic, so that it is compiled once.
async fn read_json_text(request: Request) -> Result<Box<RawValue>, ApiError> {
    let Json(text) = Json::from_request(request, &()).await.map_err(json_rejection)?;
    Ok(text)
}

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for PathSegment<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let path = extract::Path::<T>::from_request_parts(parts, state).await;
        path.map(|extract::Path(value)| Self(value)).map_err(|rejection: PathRejection| {
            // An id that cannot be parsed does not exist.
            ApiError::new(ProblemKind::NotFound, format!("not found: {}", rejection.body_text()))
        })
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for QueryParams<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let query = extract::Query::<T>::from_request_parts(parts, state).await;
        query.map(|extract::Query(value)| Self(value)).map_err(|rejection: QueryRejection| {
            ApiError::new(ProblemKind::Validation, format!("query: {}", rejection.body_text()))
        })
    }
}

#[expect(clippy::needless_pass_by_value, reason = "used as a `map_err` function")]
fn json_rejection(rejection: JsonRejection) -> ApiError {
    match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            ApiError::new(ProblemKind::TooLarge, "the body exceeds the size limit of this route")
        }
        StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            ApiError::new(ProblemKind::UnsupportedMedia, "send the body as application/json")
        }
        _ => ApiError::new(ProblemKind::Validation, format!("body: {}", rejection.body_text())),
    }
}
