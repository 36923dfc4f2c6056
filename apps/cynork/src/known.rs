//! The settings and preferences that this version reads, with what each of them can be.

use cynode_domain::known::{KNOWN, Place};
use cynode_wire::page::Page;
use serde::Serialize;

use crate::app::App;
use crate::failure::Failure;
use crate::out::Look;
use crate::table;

/// A key that is read.
#[derive(Debug, Serialize)]
struct KeyView {
    key: String,
    /// What its value can be, in words.
    value: String,
    /// What it decides.
    about: &'static str,
}

/// Lists the keys of one place.
pub(crate) fn show(place: Place, app: &App) -> Result<(), Failure> {
    let page = Page { items: keys(place), next_cursor: None };
    app.out.show(&page, |page, look| render(&page.items, look))
}

fn keys(place: Place) -> Vec<KeyView> {
    let of_place = KNOWN.iter().filter(|known| known.place == place);
    let view = of_place.map(|known| KeyView {
        key: known.spelling(),
        value: known.allowed(),
        about: known.about,
    });
    view.collect()
}

/// One key in a few lines: most keys are too long to stand beside their meaning.
fn render(keys: &[KeyView], _: Look) -> String {
    let text = keys
        .iter()
        .map(|key| format!("{}\n    {}\n    {}", key.key, table::harmless(key.about), key.value));
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

        for known in KNOWN {
            let row = format!("| `{}` | {} | {} |", known.spelling(), known.about, known.allowed());
            assert!(text.contains(&row), "docs/reference/settings.md lacks:\n{row}");
        }
    }
}
