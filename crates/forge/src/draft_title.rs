//! Drafts that are marked by a prefix of their title: GitLab and Gitea.

use crate::pull_request::Readiness;
use crate::text::fit_title;

/// The prefixes of one forge, in lower case; the first one is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DraftPrefixes {
    pub(crate) written: &'static str,
    pub(crate) recognized: &'static [&'static str],
}

impl DraftPrefixes {
    /// The title without prefixes, and whether it had one.
    pub(crate) fn split(self, title: &str) -> (&str, Readiness) {
        let (mut rest, mut readiness) = (title.trim_start(), Readiness::Ready);
        while let Some(shorter) = self.strip_one(rest) {
            rest = shorter.trim_start();
            readiness = Readiness::Draft;
        }
        (rest, readiness)
    }

    fn strip_one(self, title: &str) -> Option<&str> {
        self.recognized.iter().find_map(|prefix| {
            let start = title.get(..prefix.len())?;
            start.eq_ignore_ascii_case(prefix).then(|| &title[prefix.len()..])
        })
    }

    /// A title that every forge stores, with a prefix only if it is a draft.
    pub(crate) fn write(self, title: &str, readiness: Readiness) -> String {
        let (plain, _) = self.split(title);
        let plain = fit_title(plain);
        match readiness {
            Readiness::Draft => format!("{} {plain}", self.written),
            Readiness::Ready => plain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GITLAB: DraftPrefixes =
        DraftPrefixes { written: "Draft:", recognized: &["draft:", "[draft]", "(draft)"] };

    #[test]
    fn prefixes_are_recognized_however_they_are_written() {
        for title in ["Draft: add", "[DRAFT] add", " (draft)add", "draft: [Draft] add"] {
            assert_eq!(GITLAB.split(title), ("add", Readiness::Draft), "{title}");
        }
        assert_eq!(GITLAB.split("Drafting: add"), ("Drafting: add", Readiness::Ready));
        assert_eq!(GITLAB.split("dräft"), ("dräft", Readiness::Ready));
    }

    #[test]
    fn a_title_has_one_prefix_if_it_is_a_draft_and_none_if_it_is_ready() {
        assert_eq!(GITLAB.write("draft: add", Readiness::Draft), "Draft: add");
        assert_eq!(GITLAB.write("draft: add", Readiness::Ready), "add");
    }
}
