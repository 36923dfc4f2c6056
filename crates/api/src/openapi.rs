//! The API document, made from the routes themselves.

use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};

/// What the document says beside its routes.
#[derive(OpenApi)]
#[openapi(
    info(title = "CyNode", description = "A self-hosted control plane for AI project managers."),
    modifiers(&Bearer),
    security(("bearer" = []))
)]
pub(crate) struct Document;

struct Bearer;

impl Modify for Bearer {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let components = document.components.get_or_insert_default();
        let scheme =
            SecurityScheme::Http(HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build());
        components.add_security_scheme("bearer", scheme);
    }
}

/// Every operation named for its method and path: handlers of different features share names, and
/// operation ids must not.
pub(crate) fn named(mut document: utoipa::openapi::OpenApi) -> utoipa::openapi::OpenApi {
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
                operation.operation_id = Some(format!("{method}{}", words(path)));
            }
        }
    }
    document
}

/// `/v1/tasks/{task}/result` as `_tasks_by_task_result`.
fn words(path: &str) -> String {
    let parts = path.split('/').filter(|part| !part.is_empty() && *part != "v1");
    let word = |part: &str| match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
        Some(name) => format!("_by_{name}"),
        None => format!("_{part}"),
    };
    parts.map(word).collect()
}

/// The API document as JSON text, the same for the same code.
pub fn document(services: crate::Services) -> String {
    let (_, document) = crate::router::parts(services).split_for_parts();
    let mut text = named(document).to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}
