//! The requirements of a request: its list items, or its sentences.

/// The most requirements.
pub const MAX_REQUIREMENTS: usize = 30;
const MAX_CHARS: usize = 500;

/// Lists what a request requires, each as one line; the whole request if it lists nothing.
pub fn list_requirements(request: &str) -> Vec<String> {
    let mut is_code = false;
    let mut items: Vec<String> = vec![];
    for line in request.lines() {
        let trimmed = line.trim();
        if trimmed.starts_with("```") {
            is_code = !is_code;
        }
        if is_code {
            continue;
        }
        if let Some(item) = list_item(trimmed) {
            items.push(item.chars().take(MAX_CHARS).collect());
        }
    }
    items.dedup();
    items.truncate(MAX_REQUIREMENTS);
    if items.len() >= 2 {
        return items;
    }
    let title = request.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let title: String = title.trim_start_matches('#').trim().chars().take(MAX_CHARS).collect();
    if title.is_empty() { vec![] } else { vec![title] }
}

/// The text of a list item.
fn list_item(line: &str) -> Option<&str> {
    let bullet =
        ["- [ ] ", "- [x] ", "- ", "* ", "+ "].iter().find_map(|start| line.strip_prefix(start));
    let item = bullet.or_else(|| {
        let digits = line.chars().take_while(char::is_ascii_digit).count();
        let rest = &line[digits..];
        (1..=2)
            .contains(&digits)
            .then(|| rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") ")))
            .flatten()
    })?;
    let item = item.trim();
    (item.len() > 2).then_some(item)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_items_are_requirements_and_code_is_none() {
        let request =
            "Add export\n\n- CSV and JSON\n- [ ] streamed\n1. documented\n```\n- not this\n```\n";

        assert_eq!(list_requirements(request), ["CSV and JSON", "streamed", "documented"]);
    }

    #[test]
    fn a_sentence_is_one_requirement() {
        assert_eq!(list_requirements("# Fix the typo\nin the title"), ["Fix the typo"]);
        assert_eq!(list_requirements("\n \n"), Vec::<String>::new());
    }
}
