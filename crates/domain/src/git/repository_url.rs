//! The address of a repository: a URL, `user@host:path`, or a path on a worker node.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub(super) const MAX_URL_BYTES: usize = 2048;

/// An address that the broker does not use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    #[error("the repository address is empty, longer than 2048 bytes, or starts with a dash")]
    Malformed,
    #[error("the repository address contains white space or a control character")]
    ControlCharacter,
    #[error(
        "the repository address uses the transport {0:?}: use https://, ssh:// or user@host:path"
    )]
    Transport(String),
    #[error(
        "the repository address contains a password: remove it, and store it as the credential"
    )]
    Password,
    #[error("plain http:// is not allowed here: use https://")]
    PlainHttp,
    #[error("paths of this machine are not allowed here: use https:// or ssh://")]
    LocalPath,
    #[error(
        "the repository address has no {0}: use https://host/path, ssh://host/path, user@host:path or an absolute path"
    )]
    Missing(&'static str),
    #[error("the repository address has a query or a fragment: remove what follows ? or #")]
    Query,
    #[error("the host or user of the repository address has unusual characters")]
    Host,
}

/// Which addresses a caller accepts. `https` and `ssh` are always accepted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UrlPolicy {
    pub allow_plain_http: bool,
    /// Absolute paths and `file://`. Their repositories are read by the user of the broker.
    pub allow_local_paths: bool,
}

/// The address of a repository, free of secrets.
///
/// A user name of an http(s) address is dropped: the credential names the user, and some forges accept a token there.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RepositoryUrl {
    transport: Transport,
    text: String,
}

/// How a repository is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transport {
    Https,
    Http,
    Ssh,
    Local,
}

impl Transport {
    /// The name in `GIT_ALLOW_PROTOCOL`.
    pub fn protocol(self) -> &'static str {
        match self {
            Self::Https => "https",
            Self::Http => "http",
            Self::Ssh => "ssh",
            Self::Local => "file",
        }
    }
}

impl RepositoryUrl {
    /// Parses an address and rejects what `policy` does not accept.
    pub fn parse(text: &str, policy: UrlPolicy) -> Result<Self, UrlError> {
        if text.is_empty() || text.len() > MAX_URL_BYTES || text.starts_with('-') {
            return Err(UrlError::Malformed);
        }
        let escaped = ["%00", "%0a", "%0d"];
        let lower = text.to_ascii_lowercase();
        if text.chars().any(|c| c.is_control() || c.is_whitespace())
            || escaped.iter().any(|code| lower.contains(code))
        {
            return Err(UrlError::ControlCharacter);
        }
        if let Some(helper) = remote_helper(text) {
            return Err(UrlError::Transport(format!("{helper}::")));
        }
        if text.starts_with('/') {
            return Self::local(PathBuf::from(text), policy);
        }
        match text.split_once("://") {
            Some((scheme, rest)) => Self::with_scheme(text, scheme, rest, policy),
            None => Self::scp_like(text),
        }
    }

    fn with_scheme(
        text: &str,
        scheme: &str,
        rest: &str,
        policy: UrlPolicy,
    ) -> Result<Self, UrlError> {
        let scheme = scheme.to_ascii_lowercase();
        let transport = match scheme.as_str() {
            "https" => Transport::Https,
            "http" if policy.allow_plain_http => Transport::Http,
            "http" => return Err(UrlError::PlainHttp),
            "ssh" => Transport::Ssh,
            "file" => {
                let path = rest.strip_prefix("localhost").unwrap_or(rest);
                return match path.starts_with('/') {
                    true if path.contains('%') => Err(UrlError::Host),
                    true => Self::local(PathBuf::from(path), policy),
                    false => Err(UrlError::Missing("absolute path")),
                };
            }
            _ => return Err(UrlError::Transport(scheme)),
        };
        let mut url = ::url::Url::parse(text).map_err(|_| UrlError::Host)?;
        if url.password().is_some() {
            return Err(UrlError::Password);
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(UrlError::Query);
        }
        let host = url.host_str().ok_or(UrlError::Missing("host"))?;
        let is_address = host.starts_with('[') && host.ends_with(']');
        if !(is_address || is_plain_name(host)) {
            return Err(UrlError::Host);
        }
        if url.path().trim_matches('/').is_empty() {
            return Err(UrlError::Missing("path"));
        }
        if transport == Transport::Ssh {
            if !(url.username().is_empty() || is_plain_name(url.username())) {
                return Err(UrlError::Host);
            }
        } else {
            // Cannot fail: the address has a host.
            let _ = url.set_username("");
        }
        Ok(Self { transport, text: url.to_string() })
    }

    /// `[user@]host:path`
    fn scp_like(text: &str) -> Result<Self, UrlError> {
        let (authority, path) = text.split_once(':').ok_or(UrlError::Missing("transport"))?;
        let (user, host) = match authority.split_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        if path.contains('@') && user.is_none() {
            // `user:password@host/…` without a transport.
            return Err(UrlError::Password);
        }
        if path.is_empty() || path.starts_with('-') {
            return Err(UrlError::Missing("path"));
        }
        if !is_plain_name(host) || !user.is_none_or(is_plain_name) {
            return Err(UrlError::Host);
        }
        Ok(Self { transport: Transport::Ssh, text: text.to_owned() })
    }

    fn local(path: PathBuf, policy: UrlPolicy) -> Result<Self, UrlError> {
        if !policy.allow_local_paths {
            return Err(UrlError::LocalPath);
        }
        let path = path.into_os_string().into_string().map_err(|_| UrlError::ControlCharacter)?;
        Ok(Self { transport: Transport::Local, text: path })
    }

    /// Rejects what `policy` does not accept.
    pub fn check(&self, policy: UrlPolicy) -> Result<(), UrlError> {
        match self.transport {
            Transport::Http if !policy.allow_plain_http => Err(UrlError::PlainHttp),
            Transport::Local if !policy.allow_local_paths => Err(UrlError::LocalPath),
            Transport::Https | Transport::Http | Transport::Ssh | Transport::Local => Ok(()),
        }
    }

    pub fn transport(&self) -> Transport {
        self.transport
    }

    /// The address as git takes it. It has no secret.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The path of a repository of this machine.
    pub fn local_path(&self) -> Option<&Path> {
        (self.transport == Transport::Local).then(|| Path::new(&self.text))
    }

    /// The host and the port of a remote; `None` for a path.
    pub fn host_and_port(&self) -> Option<(String, u16)> {
        let usual = match self.transport {
            Transport::Https => 443,
            Transport::Http => 80,
            Transport::Ssh => 22,
            Transport::Local => return None,
        };
        match ::url::Url::parse(&self.text) {
            Ok(url) if self.text.contains("://") => {
                let host = url.host_str()?.trim_matches(['[', ']']).to_owned();
                Some((host, url.port().unwrap_or(usual)))
            }
            _ => {
                let (authority, _) = self.text.split_once(':')?;
                let host = authority.rsplit('@').next()?;
                Some((host.to_owned(), usual))
            }
        }
    }

    /// `scheme://host:port` of an http(s) address.
    pub fn origin(&self) -> Option<String> {
        let url = ::url::Url::parse(&self.text).ok()?;
        let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
        Some(format!("{}://{}{port}", url.scheme(), url.host_str()?))
    }
}

/// Accepts every transport; see [`RepositoryUrl::check`].
impl TryFrom<String> for RepositoryUrl {
    type Error = UrlError;

    fn try_from(text: String) -> Result<Self, UrlError> {
        Self::parse(&text, UrlPolicy { allow_plain_http: true, allow_local_paths: true })
    }
}

impl From<RepositoryUrl> for String {
    fn from(url: RepositoryUrl) -> Self {
        url.text
    }
}

impl fmt::Display for RepositoryUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for RepositoryUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RepositoryUrl({})", self.text)
    }
}

/// The remote helper that `name::address` selects.
fn remote_helper(text: &str) -> Option<&str> {
    let (name, _) = text.split_once("::")?;
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    is_name.then_some(name)
}

fn is_plain_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('-')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERYTHING: UrlPolicy = UrlPolicy { allow_plain_http: true, allow_local_paths: true };

    fn parse(text: &str) -> Result<RepositoryUrl, UrlError> {
        RepositoryUrl::parse(text, EVERYTHING)
    }

    #[test]
    fn common_addresses_are_accepted() {
        for (text, transport) in [
            ("https://git.example.com/team/app.git", Transport::Https),
            ("https://git.example.com:8443/team/app", Transport::Https),
            ("http://127.0.0.1:3000/app.git", Transport::Http),
            ("ssh://git@git.example.com:2222/team/app.git", Transport::Ssh),
            ("git@git.example.com:team/app.git", Transport::Ssh),
            ("git.example.com:app", Transport::Ssh),
            ("/srv/git/app.git", Transport::Local),
        ] {
            let url = parse(text).unwrap();
            assert_eq!((url.transport(), url.to_string()), (transport, text.to_owned()));
        }
        assert_eq!(parse("file:///srv/app").unwrap().local_path(), Some(Path::new("/srv/app")));
        let origin = parse("https://git.example.com:8443/team/app").unwrap().origin();
        assert_eq!(origin.as_deref(), Some("https://git.example.com:8443"));
        for (text, expected) in [
            ("https://git.example.com/app", Some(("git.example.com", 443))),
            ("http://[::1]:3000/app", Some(("::1", 3000))),
            ("ssh://git@git.example.com:2222/app", Some(("git.example.com", 2222))),
            ("git@git.example.com:team/app", Some(("git.example.com", 22))),
            ("git.example.com:app", Some(("git.example.com", 22))),
            ("/srv/app", None),
        ] {
            let found = parse(text).unwrap().host_and_port();
            assert_eq!(found, expected.map(|(host, port)| (host.to_owned(), port)), "{text}");
        }
    }

    #[test]
    fn plain_http_and_paths_need_the_permission_of_the_caller() {
        let strict = |text| RepositoryUrl::parse(text, UrlPolicy::default()).unwrap_err();

        assert_eq!(strict("http://git.example.com/app"), UrlError::PlainHttp);
        assert_eq!(strict("/srv/app"), UrlError::LocalPath);
        assert_eq!(strict("file:///srv/app"), UrlError::LocalPath);
    }

    #[test]
    fn transports_that_run_programs_are_rejected() {
        for text in
            ["ext::sh -c touch% /tmp/x", "ext::sh", "fd::7", "fd::7/x", "EXT::x", "foo::bar"]
        {
            let rejected = parse(text).unwrap_err();
            let expected = [UrlError::ControlCharacter, UrlError::Transport(String::new())];
            assert!(
                expected.iter().any(|error| {
                    std::mem::discriminant(error) == std::mem::discriminant(&rejected)
                }),
                "{text}: {rejected}"
            );
        }
        for text in ["git://example.com/app", "ftp://example.com/app", "javascript://x/y"] {
            assert!(matches!(parse(text), Err(UrlError::Transport(_))), "{text}");
        }
    }

    #[test]
    fn secrets_and_options_in_an_address_are_rejected_or_dropped() {
        for text in [
            "https://ada:s3cret@example.com/app",
            "https://:s3cret@example.com/app",
            "ssh://git:s3cret@example.com/app",
            "ada:s3cret@example.com/app",
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(error, UrlError::Password, "{text}");
            assert!(!error.to_string().contains("s3cret"));
        }
        let dropped = parse("https://ghp_token@example.com/app").unwrap();
        assert_eq!(dropped.to_string(), "https://example.com/app");
        for text in [
            "",
            "-u",
            "--upload-pack=touch x",
            "ssh://-oProxyCommand=x/app",
            "-oProxyCommand=x:app",
            "git@-oProxyCommand=x:app",
            "git@host:-app",
            "https://example.com/",
            "https:///app",
            "https://example.com/app?x=1",
            "https://example.com/app#x",
            "https://exa mple.com/app",
            "https://example.com/app\n",
            "https://example.com/a%0Apassword=x",
            "relative/path",
            "file://host/srv/app",
            "./app",
            "ssh://ho$(x)st/app",
        ] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }
}
