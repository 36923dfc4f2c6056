//! The name of a repository in rules.

use super::{RepositoryUrl, Transport};

const GIT_SUFFIX: &str = ".git";

impl RepositoryUrl {
    /// The repository as rules name it: host, port if it is not the usual one, and path, in lower case and without
    /// `.git`. Every address of one repository on a host has the same name, whatever its transport.
    pub fn resource_name(&self) -> String {
        let Some((host, port)) = self.host_and_port() else {
            return format!("/{}", plain_path(self.as_str())).to_ascii_lowercase();
        };
        let usual = match self.transport() {
            Transport::Https | Transport::Local => 443,
            Transport::Http => 80,
            Transport::Ssh => 22,
        };
        let port = if port == usual { String::new() } else { format!(":{port}") };
        let path = match ::url::Url::parse(self.as_str()) {
            Ok(url) if self.as_str().contains("://") => plain_path(&decode_percents(url.path())),
            _ => plain_path(self.as_str().split_once(':').map_or("", |(_, path)| path)),
        };
        format!("{}{port}/{path}", host.trim_end_matches('.')).to_ascii_lowercase()
    }
}

/// A path without `.git`, empty parts, `.` and `..`.
fn plain_path(path: &str) -> String {
    let mut parts: Vec<&str> = vec![];
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    if let Some(last) = parts.pop() {
        let end = last.len().saturating_sub(GIT_SUFFIX.len());
        match last.split_at_checked(end) {
            Some(("", suffix)) if suffix.eq_ignore_ascii_case(GIT_SUFFIX) => {}
            Some((stem, suffix)) if suffix.eq_ignore_ascii_case(GIT_SUFFIX) => parts.push(stem),
            Some(_) | None => parts.push(last),
        }
    }
    parts.join("/")
}

/// Replaces `%41` by the character that a server reads.
fn decode_percents(path: &str) -> String {
    let mut bytes = vec![];
    let mut rest = path.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let code = tail
            .get(..2)
            .filter(|_| first == b'%')
            .and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() { tail.get(2..).unwrap_or_default() } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_of_a_repository_has_the_same_name_in_rules() {
        for text in [
            "https://git.example.com/team/shop",
            "https://Git.Example.com:443/Team/Shop.git/",
            "https://ada@git.example.com./team//shop.git",
            "https://git.example.com/te%61m/x/%2e%2e/shop",
            "http://git.example.com/team/shop",
            "ssh://git@git.example.com/team/./shop.git",
            "git@git.example.com:team/shop.git",
            "git@git.example.com:/other/../team/shop",
        ] {
            assert_eq!(
                RepositoryUrl::try_from(text.to_owned()).unwrap().resource_name(),
                "git.example.com/team/shop",
                "{text}"
            );
        }
        for (text, name) in [
            ("https://git.example.com:8443/app", "git.example.com:8443/app"),
            ("ssh://git@git.example.com:2222/app", "git.example.com:2222/app"),
            ("/srv/Git/x/../app.git", "/srv/git/app"),
            ("/srv/app/.git", "/srv/app"),
        ] {
            assert_eq!(RepositoryUrl::try_from(text.to_owned()).unwrap().resource_name(), name);
        }
    }
}
