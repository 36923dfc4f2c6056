//! The resources and resource templates.

use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::json;

use crate::content::PNG;

const STATIC_TEXT: &str = "test://static-text";
const STATIC_BINARY: &str = "test://static-binary";
/// Supports subscriptions; updated by `test_trigger_resource_update`.
pub(crate) const WATCHED: &str = "test://watched-resource";

pub(crate) fn list_resources() -> Vec<Resource> {
    let resource = |uri: &str, name: &str, description: &str, mime_type: &str| {
        Resource::new(uri, name).with_description(description).with_mime_type(mime_type)
    };
    vec![
        resource(STATIC_TEXT, "static-text", "A text that stays the same", "text/plain"),
        resource(STATIC_BINARY, "static-binary", "An image that stays the same", "image/png"),
        resource(WATCHED, "watched-resource", "A text that can be watched", "text/plain"),
    ]
}

pub(crate) fn list_templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new("test://template/{id}/data", "template")
            .with_description("Data made for an id")
            .with_mime_type("application/json"),
    ]
}

pub(crate) fn read_resource(uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let contents = match uri {
        STATIC_TEXT => {
            ResourceContents::text("This is the content of the static text resource.", uri)
        }
        STATIC_BINARY => ResourceContents::blob(PNG, uri).with_mime_type("image/png"),
        WATCHED => ResourceContents::text("Watched resource content", uri),
        _ => {
            let id = uri.strip_prefix("test://template/").and_then(|u| u.strip_suffix("/data"));
            let id = id.ok_or_else(|| {
                ErrorData::resource_not_found(
                    "there is no such resource",
                    Some(json!({ "uri": uri })),
                )
            })?;
            let data =
                json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            ResourceContents::text(data.to_string(), uri).with_mime_type("application/json")
        }
    };
    Ok(ReadResourceResult::new(vec![contents]))
}
