//! Where a provider is, and how long and how much we take from it.

use std::time::Duration;

use cynode_domain::model::ProviderKind;
use url::{Host, Url};

/// Where a provider is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// What it speaks.
    pub kind: ProviderKind,
    /// What its paths begin with, such as `https://api.openai.com/v1`.
    pub base_url: String,
    /// How long and how much.
    pub limits: Limits,
}

impl Endpoint {
    /// A provider with the usual limits.
    pub fn new(kind: ProviderKind, base_url: impl Into<String>) -> Self {
        Self { kind, base_url: base_url.into(), limits: Limits::default() }
    }

    /// The address, checked. A path that ends with a slash is the same as one that does not.
    pub(crate) fn url(&self) -> Result<Url, BadEndpoint> {
        let url = Url::parse(&self.base_url).map_err(|error| BadEndpoint(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return Err(BadEndpoint("it must begin with http:// or https://".to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(BadEndpoint("it must not carry a name or password".to_owned()));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(BadEndpoint("it must end with its path".to_owned()));
        }
        Ok(url)
    }
}

/// An address that cannot be used, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the provider's address cannot be used: {0}")]
pub struct BadEndpoint(pub String);

/// How long a provider may take, and how much it may say. An answer that comes in pieces is bounded by the
/// silence between two of them; `longest` is the limit for the whole of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Until there is a connection.
    pub connect: Duration,
    /// Until the first byte of a streamed answer: the time to read the prompt.
    pub begin: Duration,
    /// Between two bytes of an answer.
    pub go_on: Duration,
    /// Until an answer in one piece is there.
    pub finish: Duration,
    /// Until the last piece of a streamed answer, however steadily its pieces come.
    pub longest: Duration,
    /// The largest event of a stream, in bytes.
    pub event_bytes: usize,
    /// The largest answer, in bytes.
    pub answer_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            begin: Duration::from_mins(2),
            go_on: Duration::from_mins(1),
            finish: Duration::from_mins(5),
            longest: Duration::from_hours(1),
            event_bytes: 1 << 20,
            answer_bytes: 16 << 20,
        }
    }
}

impl Limits {
    /// The limits of a local model, which reads long prompts and writes slowly.
    pub fn local() -> Self {
        Self {
            begin: Duration::from_mins(10),
            go_on: Duration::from_mins(2),
            finish: Duration::from_mins(30),
            ..Self::default()
        }
    }
}

/// Where providers of a kind are unless somebody says otherwise.
pub fn usual_address(kind: ProviderKind) -> &'static str {
    match kind {
        ProviderKind::Anthropic => "https://api.anthropic.com",
        ProviderKind::OpenAi => "https://api.openai.com/v1",
        ProviderKind::Ollama => "http://127.0.0.1:11434",
    }
}

pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// The address without the version that some people write after it.
pub(crate) fn without_version(mut url: Url) -> Url {
    let path = url.path().trim_end_matches('/');
    let path = path.strip_suffix("/v1").unwrap_or(path).to_owned();
    url.set_path(&path);
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(address: &str) -> String {
        Endpoint::new(ProviderKind::OpenAi, address).url().unwrap_err().0
    }

    #[test]
    fn an_address_is_plain_http_without_secrets() {
        assert!(refusal("ftp://example.com").contains("http://"));
        assert!(refusal("https://me:secret@example.com/v1").contains("password"));
        assert!(refusal("https://example.com/v1?key=abc").contains("path"));
        assert!(!refusal("https://me:secret@example.com/v1").contains("secret@"));
    }

    #[test]
    fn the_usual_addresses_can_be_used() {
        for kind in [ProviderKind::Anthropic, ProviderKind::OpenAi, ProviderKind::Ollama] {
            assert_eq!(Endpoint::new(kind, usual_address(kind)).url().err(), None);
        }
    }

    #[test]
    fn a_version_after_the_address_is_taken_off() {
        let url = |text: &str| without_version(Url::parse(text).unwrap()).to_string();

        assert_eq!(url("http://localhost:11434/v1/"), "http://localhost:11434/");
        assert_eq!(url("http://host/llm/v1"), "http://host/llm");
        assert_eq!(url("http://host/llm"), "http://host/llm");
    }
}
