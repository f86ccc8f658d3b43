//! Certificates, ours and theirs.

use std::io::BufReader;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine as _;
use http::Method;
use inrush_cluster::transport::{
    Credentials, HttpError, HttpErrorKind, HttpOptions, Request, Response, TlsOptions, Transport,
};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, PublicKeyData};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use super::server::{read_head, write_reply};

/// An authority, and files of it and of a client's certificate.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: tempfile::TempDir,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        // Two authorities of one name would be told apart by their keys, which rustls does not try.
        params.distinguished_name.push(DnType::CommonName, "the authority of the tests");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        // Two authorities in the file: all of them count.
        let other = rcgen::generate_simple_self_signed(["other".to_owned()]).unwrap();
        std::fs::write(folder.path().join("ca.pem"), other.cert.pem() + &issuer.pem()).unwrap();
        Authority { issuer, folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn certificate(&self, name: &str) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new([name.to_owned()]).unwrap().signed_by(&key, &self.issuer).unwrap();
        (certificate, key)
    }

    /// A server with a certificate for `name`, that asks for one if `clients` is set. Its URL.
    fn serve(&self, name: &str, clients: bool) -> String {
        let (certificate, key) = self.certificate(name);
        self.serve_with(&certificate, key, clients)
    }

    fn serve_with(&self, certificate: &rcgen::Certificate, key: KeyPair, clients: bool) -> String {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder =
            ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions().unwrap();
        let builder = if clients {
            let mut roots = RootCertStore::empty();
            roots.add(self.issuer.der().clone()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider).build().unwrap();
            builder.with_client_cert_verifier(verifier)
        } else {
            builder.with_no_client_auth()
        };
        let chain: Vec<CertificateDer<'static>> = vec![certificate.der().clone()];
        serve_config(builder.with_single_cert(chain, PrivateKeyDer::from(key)).unwrap())
    }
}

/// A server with this configuration. Its URL.
fn serve_config(config: ServerConfig) -> String {
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let config = config.clone();
            std::thread::spawn(move || {
                let connection = ServerConnection::new(config).unwrap();
                let mut stream = BufReader::new(StreamOwned::new(connection, stream.unwrap()));
                while read_head(&mut stream).is_some() {
                    write_reply(stream.get_mut(), 200, &[], b"{}");
                }
            });
        }
    });
    url
}

async fn ask(url: &str, tls: TlsOptions) -> Result<Response, HttpError> {
    let options = HttpOptions { tls, ..HttpOptions::default() };
    let transport = Transport::new(&[url], Credentials::None, &options).unwrap();
    transport.request(&Request::new(Method::GET, "/")).await.result
}

#[tokio::test]
async fn a_certificate_is_believed_if_its_authority_is_given() {
    let authority = Authority::new();
    let url = authority.serve("127.0.0.1", false);
    let tls = TlsOptions { ca_file: Some(authority.path("ca.pem")), ..TlsOptions::default() };
    assert_eq!(ask(&url, tls).await.unwrap().status, 200);

    let stranger = Authority::new();
    let tls = TlsOptions { ca_file: Some(stranger.path("ca.pem")), ..TlsOptions::default() };
    let error = ask(&url, tls).await.unwrap_err();
    assert_eq!(error.kind, HttpErrorKind::NotSent);
    assert!(error.to_string().contains("give the node's certificate, or that of its authority, with"), "{error}");
}

/// How a node's only certificate was made.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Made {
    /// `openssl req -x509`: an authority.
    AnAuthority,
    /// A certificate that says that it is none.
    NoAuthority,
    /// Without a word about authorities.
    Silent,
    /// Signed by an authority that the client does not have.
    BySomebody,
}

/// A certificate that is valid from a year to another one.
fn made(how: Made, name: &str, years: std::ops::Range<i32>) -> (rcgen::Certificate, KeyPair) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new([name.to_owned()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, "the only certificate");
    params.not_before = rcgen::date_time_ymd(years.start, 1, 1);
    params.not_after = rcgen::date_time_ymd(years.end, 1, 1);
    params.is_ca = match how {
        Made::AnAuthority => IsCa::Ca(BasicConstraints::Unconstrained),
        Made::NoAuthority => IsCa::ExplicitNoCa,
        Made::Silent | Made::BySomebody => IsCa::NoCa,
    };
    let certificate = match how {
        Made::BySomebody => params.signed_by(&key, &Authority::new().issuer).unwrap(),
        Made::AnAuthority | Made::NoAuthority | Made::Silent => params.self_signed(&key).unwrap(),
    };
    (certificate, key)
}

#[tokio::test]
async fn the_nodes_own_certificate_is_believed_if_it_is_given() {
    let given = Authority::new();
    for how in [Made::AnAuthority, Made::NoAuthority, Made::Silent, Made::BySomebody] {
        let file = given.path("self.pem");
        let ask_with = |pem: String, url: String| {
            std::fs::write(&file, pem).unwrap();
            let tls = TlsOptions { ca_file: Some(file.clone()), ..TlsOptions::default() };
            async move { ask(&url, tls).await }
        };
        let (certificate, key) = made(how, "127.0.0.1", 2020..2090);
        let url = given.serve_with(&certificate, key, false);
        assert_eq!(ask_with(certificate.pem(), url.clone()).await.unwrap().status, 200, "{how:?}");

        // Another one of the same maker and name.
        let (other, _) = made(how, "127.0.0.1", 2020..2090);
        let error = ask_with(other.pem(), url).await.unwrap_err();
        assert!(error.is_of_tls() && error.code() == inrush_core::Code::Certificate, "{how:?}: {error}");
        assert!(error.to_string().contains("with option `ca`"), "{how:?}: {error}");

        let (elsewhere, key) = made(how, "search.example.org", 2020..2090);
        let url = given.serve_with(&elsewhere, key, false);
        let error = ask_with(elsewhere.pem(), url).await.unwrap_err().to_string();
        assert!(error.contains("(the certificate is for search.example.org; use such a name"), "{how:?}: {error}");

        for (years, words) in [(2010..2020, "has expired"), (2080..2090, "is not valid yet")] {
            let (certificate, key) = made(how, "127.0.0.1", years);
            let url = given.serve_with(&certificate, key, false);
            let error = ask_with(certificate.pem(), url).await.unwrap_err().to_string();
            assert!(error.contains(words) && !error.contains("option `ca`"), "{how:?}: {error}");
        }
    }
}

/// A server with the certificate of a node, but without its key, is not the node.
#[tokio::test]
async fn a_certificate_without_its_key_is_refused() {
    let given = Authority::new();
    let (certificate, _) = made(Made::AnAuthority, "127.0.0.1", 2020..2090);
    std::fs::write(given.path("self.pem"), certificate.pem()).unwrap();
    let provider = rustls::crypto::ring::default_provider();
    let key = PrivateKeyDer::from(KeyPair::generate().unwrap());
    let key = provider.key_provider.load_private_key(key).unwrap();
    let stolen = rustls::sign::CertifiedKey::new(vec![certificate.der().clone()], key);
    let url = serve_config(
        ServerConfig::builder_with_provider(Arc::new(provider))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(rustls::sign::SingleCertAndKey::from(stolen))),
    );
    let tls = TlsOptions { ca_file: Some(given.path("self.pem")), ..TlsOptions::default() };
    assert!(ask(&url, tls).await.unwrap_err().is_of_tls());
}

#[tokio::test]
async fn a_certificate_for_another_host_is_refused_unless_any_is_accepted() {
    let authority = Authority::new();
    let url = authority.serve("search.example.org", false);
    let tls = TlsOptions { ca_file: Some(authority.path("ca.pem")), ..TlsOptions::default() };
    let error = ask(&url, tls).await.unwrap_err();
    assert_eq!(error.kind, HttpErrorKind::NotSent);
    assert!(error.to_string().contains("(the certificate is for search.example.org; use such a name"), "{error}");
    let tls = TlsOptions { insecure: true, ..TlsOptions::default() };
    assert_eq!(ask(&url, tls).await.unwrap().status, 200);
}

#[tokio::test]
async fn a_client_certificate_is_shown() {
    let authority = Authority::new();
    let url = authority.serve("127.0.0.1", true);
    let (certificate, key) = authority.certificate("client");
    std::fs::write(authority.path("client.pem"), certificate.pem()).unwrap();
    std::fs::write(authority.path("client.key"), key.serialize_pem()).unwrap();
    let without = TlsOptions { ca_file: Some(authority.path("ca.pem")), ..TlsOptions::default() };
    let with = TlsOptions {
        client_cert_file: Some(authority.path("client.pem")),
        client_key_file: Some(authority.path("client.key")),
        ..without.clone()
    };
    assert_eq!(ask(&url, with).await.unwrap().status, 200);
    ask(&url, without).await.unwrap_err();
}

#[tokio::test]
async fn https_to_a_plain_port_says_so() {
    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", plain.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = plain.accept().unwrap();
        // What a plain server answers to a greeting that is no HTTP; it is open until the client
        // has read it.
        write_reply(&mut stream, 400, &[], b"");
        let _ = std::io::copy(&mut stream, &mut std::io::sink());
    });
    let tls = TlsOptions { insecure: true, ..TlsOptions::default() };
    let error = ask(&url, tls).await.unwrap_err();
    assert_eq!(error.kind, HttpErrorKind::NotSent, "{error}");
    assert!(error.to_string().contains("try http://"), "{error}");
    server.join().unwrap();
}

/// A certificate as `openssl x509 -req` makes it without extensions. No client checks its
/// signature, so it has none.
fn of_version_1(key: &KeyPair) -> String {
    let der = |tag: u8, parts: &[&[u8]]| -> Vec<u8> {
        let content = parts.concat();
        let length: &[u8] = match content.len() {
            short @ 0..0x80 => &[short as u8],
            long @ 0x80..0x100 => &[0x81, long as u8],
            long => &[0x82, (long >> 8) as u8, long as u8],
        };
        [&[tag], length, &content].concat()
    };
    let algorithm = der(0x30, &[&der(0x06, &[&[0x2A, 0x86, 0x48, 0xCE, 0x3D, 4, 3, 2]])]);
    let common_name = der(0x30, &[&der(0x06, &[&[0x55, 4, 3]]), &der(0x0C, &[b"client"])]);
    let name = der(0x30, &[&der(0x31, &[&common_name])]);
    let validity = der(0x30, &[&der(0x17, &[b"200101000000Z"]), &der(0x17, &[b"400101000000Z"])]);
    let number = der(0x02, &[&[1]]);
    let body = der(0x30, &[&number, &algorithm, &name, &validity, &name, &key.subject_public_key_info()]);
    let certificate = der(0x30, &[&body, &algorithm, &der(0x03, &[&[0], &der(0x30, &[&number, &number])])]);
    let text = base64::engine::general_purpose::STANDARD.encode(certificate);
    format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n")
}

#[test]
fn a_client_certificate_of_version_1_is_called_so() {
    let folder = tempfile::tempdir().unwrap();
    let key = KeyPair::generate().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("client.pem"), of_version_1(&key)).unwrap();
    std::fs::write(path("client.key"), key.serialize_pem()).unwrap();
    let tls = TlsOptions {
        insecure: true,
        client_cert_file: Some(path("client.pem")),
        client_key_file: Some(path("client.key")),
        ..TlsOptions::default()
    };
    let options = HttpOptions { tls, ..HttpOptions::default() };
    let error = Transport::new(&["https://127.0.0.1:1"], Credentials::None, &options).unwrap_err().to_string();
    assert!(error.contains("client.pem is an X.509 certificate of version 1"), "{error}");
}
