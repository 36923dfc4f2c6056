//! Where an image comes from: a path, or a reference to a registry.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::digest::Sha256Digest;

const MAX_CHARS: usize = 1024;
/// The registry that the name `docker.io` stands for.
const DOCKER_HUB: &str = "registry-1.docker.io";

/// The source of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageSource {
    /// An OCI layout directory, an archive of one, or an archive of `docker save`.
    Path(PathBuf),
    Registry(RegistryReference),
}

/// An image in a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryReference {
    /// `https`, or `http` for a loopback host or where the source says so.
    pub(crate) scheme: &'static str,
    /// Host and port.
    pub(crate) host: String,
    pub(crate) repository: String,
    pub(crate) version: ImageVersion,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ImageVersion {
    Tag(String),
    Digest(Sha256Digest),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" is no source of an image; write an absolute path of an OCI layout or archive, or a registry, a \
     repository and a tag or digest, such as docker.io/library/alpine:3.20"
)]
pub struct InvalidImageSource(String);

impl FromStr for ImageSource {
    type Err = InvalidImageSource;

    fn from_str(text: &str) -> Result<Self, InvalidImageSource> {
        let invalid = || InvalidImageSource(text.chars().take(200).collect());
        if text.len() > MAX_CHARS || text.contains('\0') {
            return Err(invalid());
        }
        if Path::new(text).is_absolute() {
            return Ok(Self::Path(PathBuf::from(text)));
        }
        parse_reference(text).map(Self::Registry).ok_or_else(invalid)
    }
}

fn parse_reference(text: &str) -> Option<RegistryReference> {
    let (scheme, rest) = match text.split_once("://") {
        Some(("http", rest)) => (Some("http"), rest),
        Some(("https", rest)) => (Some("https"), rest),
        Some(_) => return None,
        None => (None, text),
    };
    let (host, rest) = rest.split_once('/')?;
    // Without a dot or a port, the first part would be a part of the repository.
    let is_host = host == "localhost" || host.contains(['.', ':']);
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
    if !is_host || !host.bytes().all(is_plain) {
        return None;
    }
    let (repository, version) = split_version(rest)?;
    if !is_repository(repository) {
        return None;
    }
    let host = if host == "docker.io" { DOCKER_HUB } else { host };
    let scheme = scheme.unwrap_or(if is_loopback(host) { "http" } else { "https" });
    let (host, repository) = (host.to_owned(), repository.to_owned());
    Some(RegistryReference { scheme, host, repository, version })
}

fn split_version(text: &str) -> Option<(&str, ImageVersion)> {
    if let Some((name, digest)) = text.split_once('@') {
        // A tag before a digest says nothing that the digest does not.
        let repository = name.split_once(':').map_or(name, |(repository, _)| repository);
        return Some((repository, ImageVersion::Digest(digest.parse().ok()?)));
    }
    let (repository, tag) = text.rsplit_once(':')?;
    let is_tag = (1..=128).contains(&tag.len())
        && tag.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        && !tag.starts_with(['.', '-']);
    is_tag.then(|| (repository, ImageVersion::Tag(tag.to_owned())))
}

fn is_repository(name: &str) -> bool {
    let is_part = |part: &str| {
        part.starts_with(|first: char| first.is_ascii_lowercase() || first.is_ascii_digit())
            && part.bytes().all(|byte| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte)
            })
    };
    (1..=255).contains(&name.len()) && name.split('/').all(is_part)
}

fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

impl RegistryReference {
    /// The digest that it names, if it names one.
    pub(crate) fn digest(&self) -> Option<Sha256Digest> {
        match self.version {
            ImageVersion::Digest(digest) => Some(digest),
            ImageVersion::Tag(_) => None,
        }
    }
}

impl fmt::Display for ImageSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(formatter, "{}", path.display()),
            Self::Registry(reference) => write!(formatter, "{reference}"),
        }
    }
}

impl fmt::Display for RegistryReference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scheme, host, repository, version } = self;
        match version {
            ImageVersion::Tag(tag) => write!(formatter, "{scheme}://{host}/{repository}:{tag}"),
            ImageVersion::Digest(digest) => {
                write!(formatter, "{scheme}://{host}/{repository}@{digest}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelling(text: &str) -> String {
        text.parse::<ImageSource>()
            .map_or_else(|_| "invalid".to_owned(), |source| source.to_string())
    }

    #[test]
    fn a_registry_is_reached_over_https_unless_it_is_on_this_machine_or_declared_insecure() {
        for (text, expected) in [
            ("docker.io/library/alpine:3.20", "https://registry-1.docker.io/library/alpine:3.20"),
            ("ghcr.io/a/b_c:v1", "https://ghcr.io/a/b_c:v1"),
            ("localhost:5000/a:1", "http://localhost:5000/a:1"),
            ("127.0.0.1:5000/a:1", "http://127.0.0.1:5000/a:1"),
            ("[::1]:5000/a:1", "http://[::1]:5000/a:1"),
            ("http://registry.internal:5000/a:1", "http://registry.internal:5000/a:1"),
            ("/srv/images/python", "/srv/images/python"),
        ] {
            assert_eq!(spelling(text), expected);
        }
        let digest = format!("sha256:{}", "ab".repeat(32));
        assert_eq!(
            spelling(&format!("ghcr.io/a/b:v1@{digest}")),
            format!("https://ghcr.io/a/b@{digest}")
        );
    }

    #[test]
    fn a_source_without_registry_or_version_is_invalid() {
        for text in [
            "",
            "alpine",
            "alpine:3.20",
            "library/alpine:3.20",
            "ghcr.io/a/b",
            "ghcr.io/../b:1",
            "ghcr.io/A:1",
            "ghcr.io/a:-x",
            "ftp://ghcr.io/a:1",
            "ghcr.io/a@sha256:12",
            "user@ghcr.io/a:1",
            "./relative",
            "ghcr.io/a//b:1",
        ] {
            assert_eq!(spelling(text), "invalid", "{text}");
        }
    }
}
