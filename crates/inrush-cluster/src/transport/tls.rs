//! TLS: trusted certificate authorities and the client certificate.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::error::SetupError;

/// Which authorities to trust and which client certificate to present. By default the system's
/// authorities are trusted and no certificate is presented.
#[derive(Clone, Debug, Default)]
pub struct TlsOptions {
    /// Certificate authorities in PEM, one or several. They replace the system's, as with
    /// `curl --cacert`. A node may also show one of these certificates itself.
    pub ca_file: Option<PathBuf>,
    /// The client certificate in PEM, followed by the certificates between it and its authority.
    /// Needs `client_key_file`.
    pub client_cert_file: Option<PathBuf>,
    /// The private key of `client_cert_file` in PEM, not encrypted.
    pub client_key_file: Option<PathBuf>,
    /// Accept any certificate. Anyone between this machine and the node can then read and change
    /// everything, passwords included.
    pub insecure: bool,
}

/// The TLS side of the client. The system's authorities are read (a few milliseconds) only if
/// `needed`, that is if some node is reached over https.
pub(super) fn client_config(options: &TlsOptions, needed: bool) -> Result<ClientConfig, SetupError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|e| SetupError::Tls(format!("cannot set up TLS: {e}")))?;
    let builder = if options.insecure {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(AcceptAny(provider)))
    } else if let Some(path) = &options.ca_file {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(Given::of(path, provider)?))
    } else if needed {
        let verifier = rustls_platform_verifier::Verifier::new(provider).map_err(|e| {
            SetupError::Tls(format!(
                "no certificate authorities found on this system ({e}); install the package ca-certificates or give a CA file"
            ))
        })?;
        builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
    } else {
        builder.with_root_certificates(RootCertStore::empty())
    };
    match (&options.client_cert_file, &options.client_key_file) {
        (None, None) => Ok(builder.with_no_client_auth()),
        (Some(cert), Some(key)) => builder
            .with_client_auth_cert(certificates(cert, "the client certificate")?, private_key(key)?)
            .map_err(|e| SetupError::Tls(unusable(cert, key, &e.to_string()))),
        (Some(_), None) => Err(SetupError::Tls("a client certificate was given without its key".into())),
        (None, Some(_)) => Err(SetupError::Tls("a client key was given without its certificate".into())),
    }
}

/// The message for a client certificate and key that cannot be used.
fn unusable(cert: &Path, key: &Path, reason: &str) -> String {
    let (cert, key) = (cert.display(), key.display());
    if reason.contains("UnsupportedCertVersion") {
        return format!(
            "{cert} is an X.509 certificate of version 1, made without extensions; expected version 3, which openssl makes \
             with -extfile or -copy_extensions copy"
        );
    }
    format!("the certificate {cert} and the key {key} do not belong together: {reason}")
}

/// Accepts what an authority of a file has signed, and the certificates of the file themselves:
/// that of a node whose only certificate is one that it made itself, and a single one of an
/// authority that is not given.
#[derive(Debug)]
struct Given {
    certificates: Vec<CertificateDer<'static>>,
    signed: Arc<WebPkiServerVerifier>,
}

impl Given {
    fn of(path: &Path, provider: Arc<CryptoProvider>) -> Result<Self, SetupError> {
        let certificates = certificates(path, "the CA file")?;
        let unusable = |e: &dyn std::fmt::Display| {
            SetupError::Tls(format!("{} holds a certificate that cannot be trusted: {e}", path.display()))
        };
        let mut roots = RootCertStore::empty();
        for certificate in &certificates {
            roots.add(certificate.clone()).map_err(|e| unusable(&e))?;
        }
        let signed = WebPkiServerVerifier::builder_with_provider(roots.into(), provider);
        Ok(Given { certificates, signed: signed.build().map_err(|e| unusable(&e))? })
    }
}

/// Whether only the signature of an authority is missing. The library checks the time first, so
/// the certificate is valid now.
fn lacks_only_an_authority(error: &rustls::Error) -> bool {
    match error {
        rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer) => true,
        // The library has no public type for this one.
        rustls::Error::InvalidCertificate(CertificateError::Other(other)) => other.to_string() == "CaUsedAsEndEntity",
        _ => false,
    }
}

impl ServerCertVerifier for Given {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match self.signed.verify_server_cert(shown, between, name, ocsp, now) {
            Err(error) if lacks_only_an_authority(&error) && self.certificates.contains(shown) => {
                verify_server_name(&ParsedCertificate::try_from(shown)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            result => result,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.signed.verify_tls12_signature(message, cert, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.signed.verify_tls13_signature(message, cert, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.signed.supported_verify_schemes()
    }
}

fn certificates(path: &Path, what: &'static str) -> Result<Vec<CertificateDer<'static>>, SetupError> {
    let pem = read(path, what)?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let certificates =
        certificates.map_err(|e| SetupError::Tls(format!("{what} {} is not valid PEM: {e}", path.display())))?;
    if certificates.is_empty() {
        return Err(SetupError::Tls(format!(
            "{what} {} holds no certificate; expected PEM with BEGIN CERTIFICATE",
            path.display()
        )));
    }
    Ok(certificates)
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, SetupError> {
    let pem = read(path, "the client key")?;
    PrivateKeyDer::from_pem_slice(&pem).map_err(|_| {
        SetupError::Tls(format!(
            "the client key {} holds no private key that can be read; expected PEM with BEGIN PRIVATE KEY, not encrypted",
            path.display()
        ))
    })
}

fn read(path: &Path, what: &'static str) -> Result<Vec<u8>, SetupError> {
    std::fs::read(path).map_err(|source| SetupError::File { what, path: path.to_owned(), source })
}

/// Accepts every certificate. It still checks that the peer has the private key of its certificate.
#[derive(Debug)]
struct AcceptAny(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAny {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, cert, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, cert, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_used_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let junk = folder.path().join("junk.pem");
        std::fs::write(&junk, "nothing of the kind").unwrap();
        let missing = folder.path().join("missing.pem");
        let refuse = |options: TlsOptions| client_config(&options, true).unwrap_err().to_string();

        let message = refuse(TlsOptions { ca_file: Some(junk.clone()), ..Default::default() });
        assert!(message.contains("holds no certificate"), "{message}");
        let message = refuse(TlsOptions { ca_file: Some(missing), ..Default::default() });
        assert!(message.contains("cannot read the CA file"), "{message}");
        let message = refuse(TlsOptions { insecure: true, client_key_file: Some(junk.clone()), ..Default::default() });
        assert!(message.contains("without its certificate"), "{message}");
        let message = refuse(TlsOptions { insecure: true, client_cert_file: Some(junk), ..Default::default() });
        assert!(message.contains("without its key"), "{message}");
    }

    #[test]
    fn a_certificate_of_version_1_is_called_so() {
        let say = |reason: &str| unusable(Path::new("c.pem"), Path::new("k.pem"), reason);
        assert!(say("invalid peer certificate: Other(OtherError(UnsupportedCertVersion))").contains("version 1"));
        assert_eq!(say("other key"), "the certificate c.pem and the key k.pem do not belong together: other key");
    }

    #[test]
    fn plain_http_needs_no_authorities() {
        client_config(&TlsOptions::default(), false).unwrap();
    }
}
