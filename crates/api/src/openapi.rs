//! The OpenAPI document, generated from the routes.

use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};

/// Metadata of the document.
#[derive(OpenApi)]
#[openapi(
    info(title = "CyNode", description = "A self-hosted control plane for AI project managers."),
    modifiers(&BearerScheme),
    security(("bearer" = []))
)]
pub(crate) struct ApiDocument;

struct BearerScheme;

impl Modify for BearerScheme {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let components = document.components.get_or_insert_default();
        let scheme =
            SecurityScheme::Http(HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build());
        components.add_security_scheme("bearer", scheme);
    }
}

/// Sets operation ids from method and path: handler names are not unique, operation ids must be.
pub(crate) fn with_operation_ids(
    mut document: utoipa::openapi::OpenApi,
) -> utoipa::openapi::OpenApi {
    for (path, item) in &mut document.paths.paths {
        let operations = [
            ("get", &mut item.get),
            ("post", &mut item.post),
            ("put", &mut item.put),
            ("patch", &mut item.patch),
            ("delete", &mut item.delete),
        ];
        for (method, operation) in operations {
            if let Some(operation) = operation {
                operation.operation_id = Some(format!("{method}{}", operation_suffix(path)));
            }
        }
    }
    document
}

/// `/v1/tasks/{task}/result` as `_tasks_by_task_result`.
fn operation_suffix(path: &str) -> String {
    let parts = path.split('/').filter(|part| !part.is_empty() && *part != "v1");
    let word = |part: &str| match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
        Some(name) => format!("_by_{name}"),
        None => format!("_{part}"),
    };
    parts.map(word).collect()
}

/// The OpenAPI document as JSON; deterministic.
pub fn document(services: &crate::ApiServices) -> String {
    let (_, document) = crate::router::documented_routes(services).split_for_parts();
    let mut text = with_operation_ids(document).to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}
