//! Extractors whose refusals are problems in words.

use axum::body::Bytes;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::{Json, extract};
use cynode_runtime::problem::Kind;
use http::StatusCode;
use http::request::Parts;
use serde::de::DeserializeOwned;

use crate::error::ApiError;

/// A JSON body.
pub(crate) struct Body<T>(pub(crate) T);

/// A part of the path.
pub(crate) struct Segment<T>(pub(crate) T);

/// The query string.
pub(crate) struct Params<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        let whole = Request::from_parts(parts.clone(), body);
        let text = Bytes::from_request(whole, state)
            .await
            .map_err(|rejection| refusal(rejection.status(), &rejection.body_text()))?;
        let request = Request::from_parts(parts, axum::body::Body::from(text.clone()));
        let Json(body) = Json::<T>::from_request(request, state)
            .await
            .map_err(|rejection| refusal(rejection.status(), &rejection.body_text()))?;
        // Fields are given by name: a list would fill them by position, and mean something else
        // in the next version.
        if text.trim_ascii_start().first() == Some(&b'{') {
            Ok(Self(body))
        } else {
            Err(ApiError::new(Kind::Validation, "body: send a JSON object"))
        }
    }
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

fn refusal(status: StatusCode, detail: &str) -> ApiError {
    match status {
        StatusCode::PAYLOAD_TOO_LARGE => {
            ApiError::new(Kind::TooLarge, "the body is larger than this route takes")
        }
        StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            ApiError::new(Kind::UnsupportedMedia, "send the body as application/json")
        }
        _ => ApiError::new(Kind::Validation, format!("body: {detail}")),
    }
}
