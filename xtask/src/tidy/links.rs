//! Relative links between documents must have a target.

use std::path::{Component, Path, PathBuf};

use super::TidyFindings;
use crate::fault::Fault;

/// Reports every relative link in the Markdown file `path` whose target is not in `files`.
pub fn check(path: &str, text: &str, files: &[String], findings: &mut TidyFindings) {
    let folder = Path::new(path).parent().unwrap_or(Path::new(""));
    for (index, line) in text.lines().enumerate() {
        for link in parse_links(line).filter(|link| is_relative(link)) {
            let file = link.split('#').next().unwrap_or_default();
            let target = normalise_path(&folder.join(file));
            if !file.is_empty() && !target_exists(&target, files) {
                findings.faults.push(Fault::in_line(
                    path,
                    index + 1,
                    format!("links to {link}, which is not there"),
                    "correct the link or write the document",
                ));
            }
        }
    }
}

/// The targets of `[text](target)`.
fn parse_links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target)
}

fn is_relative(link: &str) -> bool {
    !link.contains("://") && !link.starts_with("mailto:")
}

/// The path without `.` and with every `..` resolved.
fn normalise_path(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                clean.pop();
            }
            Component::CurDir => {}
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => clean.push(part),
        }
    }
    clean
}

fn target_exists(target: &Path, files: &[String]) -> bool {
    files.iter().any(|file| Path::new(file).starts_with(target))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> Vec<String> {
        let files = ["README.md".to_owned(), "docs/adr/0001-x.md".to_owned()];
        let mut findings = TidyFindings::default();
        check("docs/guide.md", text, &files, &mut findings);
        findings.faults.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn links_to_files_folders_headings_and_the_web_are_fine() {
        let text =
            "[a](adr/0001-x.md) [b](adr) [c](../README.md#top) [d](#here) [e](https://x.example/y)";

        assert_eq!(faults(text), Vec::<String>::new());
    }

    #[test]
    fn a_link_that_leads_nowhere_is_refused_with_its_line() {
        let found = faults("fine\nsee [it](adr/0002-y.md)");

        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("docs/guide.md:2: links to adr/0002-y.md"), "{found:?}");
    }
}
