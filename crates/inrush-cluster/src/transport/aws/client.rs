//! The HTTP client of the providers: reqwest, behind the interface of Amazon's crates.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use bytes::{Bytes, BytesMut};

use crate::transport::error::BoxError;
use crate::transport::tls::{TlsOptions, client_config};

/// The longest time of a connection, unless the provider has a limit.
const CONNECT_MAX: Duration = Duration::from_secs(10);

/// The longest time of a request, unless the provider has a limit.
const REQUEST_MAX: Duration = Duration::from_secs(30);

/// The largest reply in bytes. Credentials have some kilobytes.
const REPLY_BYTES_MAX: usize = 1 << 20;

/// Sends the requests of the providers. Plain HTTP goes to the metadata services of this machine,
/// which no proxy reaches; HTTPS goes through the proxy of the environment, and trusts the
/// authorities of `AWS_CA_BUNDLE`, else the system's.
#[derive(Clone, Debug, Default)]
pub(super) struct AwsHttpClient(Arc<Clients>);

/// Clients are made when they are needed: reading the authorities of the system takes some
/// milliseconds, and a machine that only asks a metadata service may have none.
#[derive(Debug, Default)]
struct Clients {
    plain: OnceLock<Result<reqwest::Client, String>>,
    tls: OnceLock<Result<reqwest::Client, String>>,
    /// The last request, and its end. The errors of the providers leave it out.
    last: Mutex<Option<String>>,
}

impl AwsHttpClient {
    /// The last request, and its end.
    pub(super) fn last(&self) -> Option<String> {
        self.0.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Forgets the last request.
    pub(super) fn forget_last(&self) {
        self.0.note(None);
    }
}

impl Clients {
    fn get(&self, https: bool) -> Result<&reqwest::Client, ConnectorError> {
        let cell = if https { &self.tls } else { &self.plain };
        let client = cell.get_or_init(|| new_client(https).map_err(|error| error.to_string()));
        client.as_ref().map_err(|error| ConnectorError::user(error.clone().into()))
    }

    fn note(&self, last: Option<String>) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = last;
    }
}

fn new_client(https: bool) -> Result<reqwest::Client, BoxError> {
    let bundle = std::env::var_os("AWS_CA_BUNDLE").filter(|path| !path.is_empty());
    let tls = TlsOptions { ca_file: bundle.filter(|_| https).map(Into::into), ..TlsOptions::default() };
    let builder = reqwest::Client::builder()
        .tls_backend_preconfigured(client_config(&tls, https)?)
        .http1_only()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        // Renewals are far apart.
        .pool_max_idle_per_host(0);
    let builder = if https { builder } else { builder.no_proxy() };
    Ok(builder.build()?)
}

impl HttpClient for AwsHttpClient {
    fn http_connector(&self, settings: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        let connect = settings.connect_timeout();
        let timeout = match settings.read_timeout() {
            Some(read) => read + connect.unwrap_or(CONNECT_MAX),
            None => REQUEST_MAX,
        };
        SharedHttpConnector::new(Connector { clients: Arc::clone(&self.0), timeout })
    }
}

#[derive(Debug)]
struct Connector {
    clients: Arc<Clients>,
    /// From the connection to the last byte of the reply.
    timeout: Duration,
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (clients, timeout) = (Arc::clone(&self.clients), self.timeout);
        HttpConnectorFuture::new(async move { send(&clients, request, timeout).await })
    }
}

async fn send(clients: &Clients, request: HttpRequest, timeout: Duration) -> Result<HttpResponse, ConnectorError> {
    let body = request.body().bytes().map(Bytes::copy_from_slice);
    let body = body.ok_or_else(|| ConnectorError::user("the request has no body in memory".into()))?;
    let (parts, _) = request.try_into_http1x().map_err(|error| ConnectorError::user(error.into()))?.into_parts();
    let client = clients.get(parts.uri.scheme_str() == Some("https"))?;
    // The query can have names of accounts and roles.
    let uri = parts.uri.to_string();
    let asked = format!("{} {}", parts.method, uri.split('?').next().unwrap_or_default());
    clients.note(Some(format!("{asked} got no reply")));
    let outgoing = client.request(parts.method, uri).headers(parts.headers).body(body);
    let mut incoming = outgoing.timeout(timeout).send().await.map_err(failed)?;
    clients.note(Some(format!("{asked} was answered with status {}", incoming.status().as_u16())));
    let mut body = BytesMut::new();
    while let Some(chunk) = incoming.chunk().await.map_err(failed)? {
        if body.len() + chunk.len() > REPLY_BYTES_MAX {
            return Err(ConnectorError::io(format!("the reply is larger than {REPLY_BYTES_MAX} bytes").into()));
        }
        body.extend_from_slice(&chunk);
    }
    let mut response = HttpResponse::new(incoming.status().into(), body.freeze().into());
    for (name, value) in incoming.headers() {
        // The providers read only headers that are text.
        if let Ok(value) = value.to_str() {
            response.headers_mut().append(name.as_str().to_owned(), value.to_owned());
        }
    }
    Ok(response)
}

fn failed(error: reqwest::Error) -> ConnectorError {
    let is_timeout = error.is_timeout();
    let source: BoxError = error.without_url().into();
    if is_timeout { ConnectorError::timeout(source) } else { ConnectorError::io(source) }
}
