//! How a PostgreSQL server is reached, and how its connections are protected.
//!
//! `sslmode` has the meaning that libpq gives it: `disable`, `prefer` (the default: encrypted if the server can),
//! `require` (encrypted, without a check of the certificate), `verify-ca` (the certificate is signed by a known authority) and
//! `verify-full` (it also names the host). `sslrootcert` is a file with the authorities; without it those of the
//! system are used.

use std::str::FromStr;
use std::sync::Arc;

use percent_encoding::percent_decode_str;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};
use tokio_postgres::Config;
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::Error;

/// A parsed `postgres://` URL.
#[derive(Clone)]
pub struct PostgresAddress {
    pub config: Config,
    /// Protects connections, unless the configuration disables it.
    pub tls: MakeRustlsConnect,
}

impl PostgresAddress {
    /// Parses a URL and loads the certificates that it needs.
    pub fn parse(url: &str) -> Result<Self, Error> {
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let mut protection = ConnectionProtection::Prefer;
        let mut root_file = None;
        let mut others = vec![];
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", mode)) => protection = mode.parse()?,
                Some(("sslrootcert", file)) => root_file = Some(decode_value(file)?),
                Some(_) | None => others.push(pair),
            }
        }
        let base = if others.is_empty() {
            base.to_owned()
        } else {
            format!("{base}?{}", others.join("&"))
        };
        let mut config: Config =
            base.parse().map_err(|error| Error::invalid_url(describe(&error)))?;
        config.ssl_mode(protection.ssl_mode());
        let tls = MakeRustlsConnect::new(client_config(protection, root_file.as_deref())?);
        Ok(Self { config, tls })
    }
}

/// How much of a connection is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionProtection {
    Disable,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

impl ConnectionProtection {
    const fn ssl_mode(self) -> SslMode {
        match self {
            Self::Disable => SslMode::Disable,
            Self::Prefer => SslMode::Prefer,
            Self::Require | Self::VerifyCa | Self::VerifyFull => SslMode::Require,
        }
    }
}

impl FromStr for ConnectionProtection {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "disable" => Ok(Self::Disable),
            "prefer" => Ok(Self::Prefer),
            "require" => Ok(Self::Require),
            "verify-ca" => Ok(Self::VerifyCa),
            "verify-full" => Ok(Self::VerifyFull),
            other => Err(Error::invalid_url(format!(
                "sslmode is \"{other}\"; allowed are disable, prefer, require, verify-ca and verify-full"
            ))),
        }
    }
}

fn decode_value(text: &str) -> Result<String, Error> {
    let decoded = percent_decode_str(text).decode_utf8();
    let decoded = decoded.map_err(|_| Error::invalid_url("sslrootcert is not valid UTF-8"))?;
    Ok(decoded.into_owned())
}

/// The reason without the URL, which may hold a password.
fn describe(error: &tokio_postgres::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

fn client_config(
    protection: ConnectionProtection,
    root_file: Option<&str>,
) -> Result<ClientConfig, Error> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(Error::unavailable)?;
    let verifier = match protection {
        ConnectionProtection::VerifyFull => {
            let roots = load_roots(root_file)?;
            return Ok(builder.with_root_certificates(roots).with_no_client_auth());
        }
        ConnectionProtection::VerifyCa => {
            let roots = Arc::new(load_roots(root_file)?);
            let inner =
                WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider)).build();
            Some(inner.map_err(Error::unavailable)?)
        }
        ConnectionProtection::Disable
        | ConnectionProtection::Prefer
        | ConnectionProtection::Require => None,
    };
    let verifier = Arc::new(LenientVerifier { provider, verifier });
    Ok(builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
}

fn load_roots(file: Option<&str>) -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    let Some(file) = file else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            return Err(Error::invalid_url(
                "this system has no certificate authorities: give a file with sslrootcert",
            ));
        }
        return Ok(roots);
    };
    let invalid = |reason: &dyn std::fmt::Display| {
        Error::invalid_url(format!("sslrootcert {file} cannot be used: {reason}"))
    };
    for certificate in CertificateDer::pem_file_iter(file).map_err(|error| invalid(&error))? {
        let certificate = certificate.map_err(|error| invalid(&error))?;
        roots.add(certificate).map_err(|error| invalid(&error))?;
    }
    if roots.is_empty() {
        return Err(invalid(&"it has no certificate"));
    }
    Ok(roots)
}

/// Accepts the certificate of any host: of every authority, or of those that `verifier` knows.
#[derive(Debug)]
struct LenientVerifier {
    provider: Arc<CryptoProvider>,
    verifier: Option<Arc<WebPkiServerVerifier>>,
}

impl ServerCertVerifier for LenientVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(known) = &self.verifier else { return Ok(ServerCertVerified::assertion()) };
        match known.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            outcome => outcome,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(url: &str) -> String {
        PostgresAddress::parse(url).err().unwrap().to_string()
    }

    #[test]
    fn the_mode_and_the_authorities_are_taken_out_of_the_url() {
        let url = "postgres://ada:secret@db.example/cynode?connect_timeout=3&sslmode=require";
        let address = PostgresAddress::parse(url).unwrap();
        let default = PostgresAddress::parse("postgres://ada@db.example/cynode").unwrap();

        assert_eq!(address.config.get_ssl_mode(), SslMode::Require);
        assert_eq!(address.config.get_dbname(), Some("cynode"));
        assert_eq!(default.config.get_ssl_mode(), SslMode::Prefer);
    }

    #[test]
    fn an_invalid_url_is_refused_with_the_reason_and_without_its_password() {
        let mode = refusal("postgres://ada:secret@db/cynode?sslmode=full");
        let file = refusal("postgres://db/cynode?sslmode=verify-full&sslrootcert=%2Fnowhere.pem");
        let option = refusal("postgres://ada:secret@db/cynode?colour=red");

        assert!(mode.contains("sslmode is \"full\"") && mode.contains("verify-full"), "{mode}");
        assert!(file.contains("/nowhere.pem"), "{file}");
        assert!(option.contains("colour") && !option.contains("secret"), "{option}");
    }
}
