//! Patterns of protected paths.

/// A pattern that is empty or too long.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a path pattern: use names with * and ?, and ** for any directories")]
pub struct PatternError(String);

/// A glob over paths of a repository, matched without regard to case.
///
/// `*` and `?` match within one part, `**` any number of parts. A pattern without a slash matches a name in every
/// directory. A leading slash is ignored; a trailing one means everything below.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathPattern {
    parts: Vec<Vec<u8>>,
}

impl PathPattern {
    pub fn parse(pattern: &str) -> Result<Self, PatternError> {
        let wrong = || PatternError(pattern.to_owned());
        let mut text = pattern.strip_prefix('/').unwrap_or(pattern).to_ascii_lowercase();
        if text.is_empty() || text.len() > 512 || text.contains("//") {
            return Err(wrong());
        }
        if text.ends_with('/') {
            text.push_str("**");
        }
        if !pattern.contains('/') {
            text.insert_str(0, "**/");
        }
        let parts: Vec<Vec<u8>> = text.split('/').map(|part| part.as_bytes().to_vec()).collect();
        let is_relative = parts.iter().any(|part| part == b"." || part == b"..");
        if is_relative { Err(wrong()) } else { Ok(Self { parts }) }
    }

    /// Whether the pattern matches the path.
    pub(crate) fn matches(&self, path: &[u8]) -> bool {
        let path = path.to_ascii_lowercase();
        let parts: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
        let is_any = |pattern: &Vec<u8>| pattern == b"**";
        match_sequence(&self.parts, &parts, is_any, |pattern, part| {
            match_sequence(
                pattern,
                part,
                |byte| *byte == b'*',
                |wild, byte| *wild == b'?' || wild == byte,
            )
        })
    }
}

/// Matches a sequence with wildcards in time proportional to the product of the lengths.
fn match_sequence<P, T>(
    pattern: &[P],
    items: &[T],
    is_any: impl Fn(&P) -> bool,
    is_match: impl Fn(&P, &T) -> bool,
) -> bool {
    // `reached[i]`: the pattern so far matches the first `i` items.
    let mut reached = vec![false; items.len() + 1];
    reached[0] = true;
    for element in pattern {
        if is_any(element) {
            for at in 1..reached.len() {
                reached[at] |= reached[at - 1];
            }
        } else {
            for at in (1..reached.len()).rev() {
                reached[at] = reached[at - 1] && is_match(element, &items[at - 1]);
            }
            reached[0] = false;
        }
    }
    reached[items.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, path: &str) -> bool {
        PathPattern::parse(pattern).unwrap().matches(path.as_bytes())
    }

    #[test]
    fn patterns_match_as_people_expect() {
        for (pattern, path) in [
            (".github/workflows/**", ".github/workflows/ci.yml"),
            (".github/workflows/**", ".GitHub/Workflows/a/b.yml"),
            (".github/workflows/", ".github/workflows/ci.yml"),
            ("Jenkinsfile", "Jenkinsfile"),
            ("Jenkinsfile", "sub/jenkinsfile"),
            ("*.pem", "a/b/key.pem"),
            ("/ci/?.sh", "ci/a.sh"),
            ("a/**/z", "a/z"),
            ("a/**/z", "a/b/c/z"),
            ("**", "anything/at/all"),
        ] {
            assert!(matches(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [
            (".github/workflows/**", ".github/CODEOWNERS"),
            ("/Jenkinsfile", "sub/Jenkinsfile/x"),
            ("*.pem", "key.pem/x"),
            ("a/*", "a/b/c"),
            ("ci/?.sh", "ci/ab.sh"),
        ] {
            assert!(!matches(pattern, path), "{pattern} {path}");
        }
    }

    #[test]
    fn hostile_paths_are_matched_quickly() {
        let path = "a/".repeat(2000) + "b";

        assert!(!matches("**/a/**/a/**/a/**/c", &path));
        assert!(!matches("*a*a*a*a*a*c", &"a".repeat(4000)));
    }

    #[test]
    fn unusable_patterns_are_rejected() {
        for pattern in ["", "/", "a//b", "../x", "./x", &"x".repeat(600)] {
            assert!(PathPattern::parse(pattern).is_err(), "{pattern}");
        }
    }
}
