//! TLS for `localhost`, with a certificate that is created at the first use.

use std::sync::{Arc, LazyLock};

use rcgen::{CertifiedKey, KeyPair};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};

static LOCALHOST: LazyLock<CertifiedKey<KeyPair>> = LazyLock::new(|| {
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    rcgen::generate_simple_self_signed(names).expect("cannot create a certificate for localhost")
});

/// Returns the certificate of the servers, which clients trust.
pub fn server_certificate() -> CertificateDer<'static> {
    LOCALHOST.cert.der().clone()
}

/// Returns the certificate and its key in PEM format.
pub fn server_pem() -> (String, String) {
    (LOCALHOST.cert.pem(), LOCALHOST.signing_key.serialize_pem())
}

/// Returns the TLS configuration of a server that offers these protocols.
pub fn server_tls(protocols: &[&str]) -> ServerConfig {
    let key = PrivatePkcs8KeyDer::from(LOCALHOST.signing_key.serialize_der());
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .expect("the provider supports the default versions")
        .with_no_client_auth()
        .with_single_cert(vec![server_certificate()], key.into())
        .expect("the key belongs to the certificate");
    config.alpn_protocols = names(protocols);
    config
}

/// Returns the TLS configuration of a client that trusts only this server and offers these
/// protocols.
pub fn client_tls(protocols: &[&str]) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(server_certificate()).expect("the certificate is well formed");
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .expect("the provider supports the default versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = names(protocols);
    config
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn names(protocols: &[&str]) -> Vec<Vec<u8>> {
    protocols.iter().map(|name| name.as_bytes().to_vec()).collect()
}
