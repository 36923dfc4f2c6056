//! The resources and resource templates.

use serde_json::{Value, json};

use crate::content::PNG;
use crate::message::{FixtureRequest, FixtureRpcError};

const STATIC_TEXT: &str = "test://static-text";
const STATIC_BINARY: &str = "test://static-binary";
/// Supports subscriptions; updated by `test_trigger_resource_update`.
pub(crate) const WATCHED: &str = "test://watched-resource";

pub(crate) fn list_resources() -> Value {
    let resource = |uri, name, description, mime_type| json!({ "uri": uri, "name": name, "description": description, "mimeType": mime_type });
    json!({ "resources": [
        resource(STATIC_TEXT, "static-text", "A text that stays the same", "text/plain"),
        resource(STATIC_BINARY, "static-binary", "An image that stays the same", "image/png"),
        resource(WATCHED, "watched-resource", "A text that can be watched", "text/plain"),
    ] })
}

pub(crate) fn list_templates() -> Value {
    json!({ "resourceTemplates": [{
        "uriTemplate": "test://template/{id}/data",
        "name": "template",
        "description": "Data made for an id",
        "mimeType": "application/json",
    }] })
}

pub(crate) fn read_resource(request: &FixtureRequest) -> Result<Value, FixtureRpcError> {
    let uri =
        request.text("uri").ok_or_else(|| FixtureRpcError::invalid_params("uri is missing"))?;
    let text = |mime_type: &str, text: String| json!({ "contents": [{ "uri": uri, "mimeType": mime_type, "text": text }] });
    match uri {
        STATIC_TEXT => {
            Ok(text("text/plain", "This is the content of the static text resource.".to_owned()))
        }
        STATIC_BINARY => {
            Ok(json!({ "contents": [{ "uri": uri, "mimeType": "image/png", "blob": PNG }] }))
        }
        WATCHED => Ok(text("text/plain", "Watched resource content".to_owned())),
        _ => {
            let id = uri.strip_prefix("test://template/").and_then(|u| u.strip_suffix("/data"));
            let id = id.ok_or_else(|| {
                FixtureRpcError::invalid_params("there is no such resource")
                    .data(json!({ "uri": uri }))
            })?;
            let data =
                json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            Ok(text("application/json", data.to_string()))
        }
    }
}
