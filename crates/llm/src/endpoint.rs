//! The address of a provider, its timeouts and its size limits.

use std::time::Duration;

use cynode_domain::model::ProviderKind;
use url::{Host, Url};

/// The address of a provider and its limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderEndpoint {
    /// The API that the provider speaks.
    pub kind: ProviderKind,
    /// The prefix of every path, such as `https://api.openai.com/v1`.
    pub base_url: String,
    pub limits: ProviderLimits,
}

impl ProviderEndpoint {
    /// An endpoint with the default limits.
    pub fn new(kind: ProviderKind, base_url: impl Into<String>) -> Self {
        Self { kind, base_url: base_url.into(), limits: ProviderLimits::default() }
    }

    /// Parses and validates the address. A trailing slash makes no difference.
    pub(crate) fn parse_url(&self) -> Result<Url, InvalidEndpoint> {
        let url = Url::parse(&self.base_url).map_err(|error| InvalidEndpoint(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return Err(InvalidEndpoint("it must begin with http:// or https://".to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(InvalidEndpoint("it must not contain a user name or password".to_owned()));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(InvalidEndpoint("it must end with its path".to_owned()));
        }
        Ok(url)
    }
}

/// An invalid address, and why it is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the provider's address cannot be used: {0}")]
pub struct InvalidEndpoint(pub String);

/// The timeouts and size limits of a provider. A streamed answer is bounded by the silence between two chunks
/// (`idle_timeout`) and by its total duration (`max_stream_duration`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ProviderLimits {
    /// Timeout of the connection.
    pub connect_timeout: Duration,
    /// Timeout until the first byte of a streamed answer, while the model reads the prompt.
    pub begin: Duration,
    /// Timeout between two reads of an answer.
    pub idle_timeout: Duration,
    /// Timeout of an answer that is not streamed.
    pub finish: Duration,
    /// Maximum duration of a streamed answer.
    pub max_stream_duration: Duration,
    /// Maximum size of one stream event, in bytes.
    pub max_event_bytes: usize,
    /// Maximum size of an answer, in bytes.
    pub max_answer_bytes: usize,
}

impl Default for ProviderLimits {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            begin: Duration::from_mins(2),
            idle_timeout: Duration::from_mins(1),
            finish: Duration::from_mins(5),
            max_stream_duration: Duration::from_hours(1),
            max_event_bytes: 1 << 20,
            max_answer_bytes: 16 << 20,
        }
    }
}

impl ProviderLimits {
    /// The limits of a local model, which reads prompts and writes answers slowly.
    pub fn local() -> Self {
        Self {
            begin: Duration::from_mins(10),
            idle_timeout: Duration::from_mins(2),
            finish: Duration::from_mins(30),
            ..Self::default()
        }
    }
}

/// The default address of a kind of provider.
pub fn default_address(kind: ProviderKind) -> &'static str {
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

/// Removes a trailing `/v1` from the address.
pub(crate) fn strip_version(mut url: Url) -> Url {
    let path = url.path().trim_end_matches('/');
    let path = path.strip_suffix("/v1").unwrap_or(path).to_owned();
    url.set_path(&path);
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(address: &str) -> String {
        ProviderEndpoint::new(ProviderKind::OpenAi, address).parse_url().unwrap_err().0
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
            assert_eq!(ProviderEndpoint::new(kind, default_address(kind)).parse_url().err(), None);
        }
    }

    #[test]
    fn a_version_after_the_address_is_taken_off() {
        let url = |text: &str| strip_version(Url::parse(text).unwrap()).to_string();

        assert_eq!(url("http://localhost:11434/v1/"), "http://localhost:11434/");
        assert_eq!(url("http://host/llm/v1"), "http://host/llm");
        assert_eq!(url("http://host/llm"), "http://host/llm");
    }
}
