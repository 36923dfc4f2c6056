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

/// The API document as JSON text, the same for the same code.
pub fn document(services: crate::Services) -> String {
    let (_, document) = crate::router::parts(services).split_for_parts();
    let mut text = document.to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}
