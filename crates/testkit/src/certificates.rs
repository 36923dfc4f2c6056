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
    ///
    /// # Panics
    ///
    /// When a key cannot be generated.
    pub fn for_host(host: &str) -> Self {
        let mut authority = CertificateParams::new(vec![]).expect("valid parameters");
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority_key = KeyPair::generate().expect("a key");
        let signed = authority.self_signed(&authority_key).expect("a certificate");
        let issuer = Issuer::new(authority, authority_key);
        let key = KeyPair::generate().expect("a key");
        let certificate = CertificateParams::new(vec![host.to_owned()])
            .and_then(|server| server.signed_by(&key, &issuer))
            .expect("a certificate");
        Self { authority: signed.pem(), certificate: certificate.pem(), key: key.serialize_pem() }
    }
}
