//! Certificates for tests of encrypted connections.

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

/// A server certificate with its authority, all as PEM.
#[derive(Debug)]
pub struct TestCertificate {
    pub authority: String,
    pub certificate: String,
    pub key: String,
}

impl TestCertificate {
    /// A certificate for `host`, signed by a new authority.
    pub fn for_host(host: &str) -> Result<Self, rcgen::Error> {
        let mut authority = CertificateParams::new(vec![])?;
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority_key = KeyPair::generate()?;
        let signed = authority.self_signed(&authority_key)?;
        let issuer = Issuer::new(authority, authority_key);
        let key = KeyPair::generate()?;
        let server = CertificateParams::new(vec![host.to_owned()])?.signed_by(&key, &issuer)?;
        let (authority, certificate) = (signed.pem(), server.pem());
        Ok(Self { authority, certificate, key: key.serialize_pem() })
    }
}
