//! Lists the setting and preference keys of this version with their allowed values.

use cynode_domain::config_keys::{ConfigKeyKind, KNOWN_KEYS};
use cynode_wire::page::Page;
use serde::Serialize;

use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::out::RenderContext;
use cynode_cli::table;

#[derive(Debug, Serialize)]
struct KnownKeyView {
    key: String,
    /// Allowed values, in words.
    value: String,
    /// What the key controls.
    #[serde(rename = "about")]
    description: &'static str,
}

/// Prints the keys of `key_kind`.
pub fn show(key_kind: ConfigKeyKind, app: &CliContext) -> Result<(), CliFailure> {
    let page = Page { items: known_keys(key_kind), next_cursor: None };
    app.out.show(&page, |page, ctx| render(&page.items, ctx))
}

fn known_keys(key_kind: ConfigKeyKind) -> Vec<KnownKeyView> {
    let of_kind = KNOWN_KEYS.iter().filter(|known| known.key_kind == key_kind);
    let view = of_kind.map(|known| KnownKeyView {
        key: known.spelling(),
        value: known.allowed(),
        description: known.description,
    });
    view.collect()
}

/// One key on several lines: most keys are too long for a table.
fn render(keys: &[KnownKeyView], _: RenderContext) -> String {
    let text = keys.iter().map(|key| {
        format!("{}\n    {}\n    {}", key.key, table::sanitize(key.description), key.value)
    });
    text.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_reference_lists_every_key_with_what_it_can_be() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/settings.md");
        let text = fs::read_to_string(path).unwrap();

        for known in KNOWN_KEYS {
            let row =
                format!("| `{}` | {} | {} |", known.spelling(), known.description, known.allowed());
            assert!(text.contains(&row), "docs/reference/settings.md lacks:\n{row}");
        }
    }
}
