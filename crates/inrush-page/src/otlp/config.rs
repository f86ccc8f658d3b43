//! Where metrics are sent, by the option and the variables `OTEL_*`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use inrush_cluster::run_id::run_id;
use inrush_cluster::transport::Secret;

/// The defaults of OpenTelemetry.
const ENDPOINT: &str = "http://localhost:4318";
const PATH: &str = "/v1/metrics";
const EVERY: Duration = Duration::from_secs(60);
const TIMEOUT: Duration = Duration::from_secs(10);

/// The endpoint that a user names: an address, or `auto` for that of the variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtlpEndpoint(Option<String>);

impl OtlpEndpoint {
    /// That of the variables.
    pub const AUTO: OtlpEndpoint = OtlpEndpoint(None);
}

impl FromStr for OtlpEndpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(OtlpEndpoint::AUTO);
        }
        address(text).map(|_| OtlpEndpoint(Some(text.to_owned())))
    }
}

/// Where metrics are sent, and how.
#[derive(Clone, Debug)]
pub struct OtlpConfig {
    server: String,
    path: String,
    headers: Vec<(HeaderName, Secret)>,
    pub(super) timeout: Duration,
    pub(super) every: Duration,
    pub(super) resource: Vec<(String, String)>,
}

/// The variables, without empty ones.
struct Variables<F>(F);

impl<F: Fn(&str) -> Option<String>> Variables<F> {
    fn get(&self, name: &str) -> Option<String> {
        (self.0)(name).filter(|value| !value.trim().is_empty())
    }

    /// That of metrics, or that of all signals.
    fn of_metrics(&self, name: &str) -> Option<(String, String)> {
        let special = format!("OTEL_EXPORTER_OTLP_METRICS_{name}");
        self.get(&special).map(|value| (special, value)).or_else(|| {
            let common = format!("OTEL_EXPORTER_OTLP_{name}");
            self.get(&common).map(|value| (common, value))
        })
    }
}

fn milliseconds(found: Option<(String, String)>, default: Duration) -> Result<Duration, String> {
    let Some((name, value)) = found else { return Ok(default) };
    match value.trim().parse::<u64>() {
        Ok(ms) if ms > 0 => Ok(Duration::from_millis(ms)),
        _ => Err(format!("{name} is {value}; expected milliseconds")),
    }
}

impl OtlpConfig {
    /// The configuration by these environment variables. `None`: `OTEL_SDK_DISABLED` is `true`.
    ///
    /// # Errors
    /// A variable has a value that cannot be used.
    pub fn new(endpoint: &OtlpEndpoint, variable: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, String> {
        let variables = Variables(variable);
        if variables.get("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        let (server, path) = match &endpoint.0 {
            Some(text) => below(text)?,
            None => by_variables(variables.of_metrics("ENDPOINT"), variables.of_metrics("PROTOCOL"))?,
        };
        let headers = variables.of_metrics("HEADERS").map(|(name, value)| headers(&name, &value)).transpose()?;
        let every = "OTEL_METRIC_EXPORT_INTERVAL";
        Ok(Some(OtlpConfig {
            server,
            path,
            headers: headers.unwrap_or_default(),
            timeout: milliseconds(variables.of_metrics("TIMEOUT"), TIMEOUT)?,
            every: milliseconds(variables.get(every).map(|value| (every.to_owned(), value)), EVERY)?,
            resource: resource(variables.get("OTEL_SERVICE_NAME"), variables.get("OTEL_RESOURCE_ATTRIBUTES")),
        }))
    }

    /// Scheme, host and port.
    pub(super) fn server(&self) -> &str {
        &self.server
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(super) fn url(&self) -> impl fmt::Display + '_ {
        format!("{}{}", self.server, self.path)
    }

    pub(super) fn headers(&self) -> HeaderMap {
        let value = |secret: &Secret| {
            let mut value = HeaderValue::try_from(secret.expose()).ok()?;
            value.set_sensitive(true);
            Some(value)
        };
        self.headers.iter().filter_map(|(name, secret)| Some((name.clone(), value(secret)?))).collect()
    }
}

/// The endpoint of the variables. The one for metrics has the whole path.
fn by_variables(
    endpoint: Option<(String, String)>,
    protocol: Option<(String, String)>,
) -> Result<(String, String), String> {
    if let Some((name, value)) = protocol.filter(|(_, value)| value.trim() == "grpc") {
        return Err(format!(
            "{name} is {value}, but inrush sends OTLP by HTTP; name the HTTP endpoint of the collector with option \
             `otlp=URL`, mostly at port 4318"
        ));
    }
    let Some((name, value)) = endpoint else { return below(ENDPOINT) };
    let found = if name.contains("_METRICS_") { address(value.trim()) } else { below(value.trim()) };
    found.map_err(|problem| format!("{name}: {problem}"))
}

/// The address of metrics below an endpoint, which may have their path already.
fn below(endpoint: &str) -> Result<(String, String), String> {
    let (server, path) = address(endpoint)?;
    let path = path.trim_end_matches('/');
    let path = path.strip_suffix(PATH).unwrap_or(path);
    Ok((server, format!("{path}{PATH}")))
}

/// Scheme, host and port of an address, and its path.
fn address(text: &str) -> Result<(String, String), String> {
    let expected = "expected an address such as http://localhost:4318";
    let uri: Uri = text.parse().map_err(|_| expected.to_owned())?;
    let default = match uri.scheme_str() {
        Some("http") => 80,
        Some("https") => 443,
        _ => return Err(expected.to_owned()),
    };
    let authority = uri.authority().ok_or(expected)?;
    if authority.as_str().contains('@') {
        return Err("it has a user name or password; give them in OTEL_EXPORTER_OTLP_HEADERS".to_owned());
    }
    let (scheme, port) = (uri.scheme_str().unwrap_or_default(), authority.port_u16().unwrap_or(default));
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    Ok((format!("{scheme}://{}:{port}", authority.host()), path.to_owned()))
}

/// Headers as `name=value,name=value` with percent-encoded values.
fn headers(variable: &str, text: &str) -> Result<Vec<(HeaderName, Secret)>, String> {
    // The message has no value: it is a secret.
    let problem = || format!("{variable} is no list of headers; expected name=value,name=value");
    let header = |(name, value): (String, String)| {
        HeaderValue::try_from(&value).ok()?;
        Some((HeaderName::try_from(name).ok()?, Secret::new(value)))
    };
    pairs(text).map(|pair| pair.and_then(header).ok_or_else(problem)).collect()
}

fn resource(service: Option<String>, attributes: Option<String>) -> Vec<(String, String)> {
    let mut resource: Vec<(String, String)> =
        attributes.iter().flat_map(|text| pairs(text).flatten().collect::<Vec<_>>()).collect();
    let given = |resource: &[(String, String)], name: &str| resource.iter().any(|(key, _)| key == name);
    if let Some(service) = service {
        resource.retain(|(key, _)| key != "service.name");
        resource.push(("service.name".to_owned(), service));
    }
    let defaults = [
        ("service.name", "inrush".to_owned()),
        ("service.version", env!("CARGO_PKG_VERSION").to_owned()),
        ("service.instance.id", run_id()),
    ];
    for (name, value) in defaults {
        if !given(&resource, name) {
            resource.push((name.to_owned(), value));
        }
    }
    resource
}

/// The pairs of a list. `None` for an element that is no pair.
fn pairs(text: &str) -> impl Iterator<Item = Option<(String, String)>> {
    let elements = text.split(',').map(str::trim).filter(|element| !element.is_empty());
    elements.map(|element| {
        let (name, value) = element.split_once('=')?;
        Some((name.trim().to_owned(), decoded(value.trim())?))
    })
}

/// A text without its percent-encoding.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|byte| char::from(byte).to_digit(16));
        let (high, low) = (digit()?, digit()?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(endpoint: &str, variables: &[(&str, &str)]) -> Result<Option<OtlpConfig>, String> {
        let variable =
            |name: &str| variables.iter().find(|(given, _)| *given == name).map(|(_, value)| (*value).to_owned());
        OtlpConfig::new(&endpoint.parse().unwrap(), variable)
    }

    #[test]
    fn an_endpoint_is_that_of_the_option_or_of_the_variables() {
        let url = |endpoint: &str, variables: &[(&str, &str)]| {
            config(endpoint, variables).unwrap().map(|config| config.url().to_string()).unwrap_or_default()
        };
        let common = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/");
        let special = ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "https://m/otlp");
        for (endpoint, variables, expected) in [
            ("auto", &[][..], "http://localhost:4318/v1/metrics"),
            ("auto", &[common], "http://c:4318/v1/metrics"),
            ("auto", &[common, special], "https://m:443/otlp"),
            ("http://x/otlp", &[common, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")], "http://x:80/otlp/v1/metrics"),
            ("http://[::1]:99/v1/metrics", &[], "http://[::1]:99/v1/metrics"),
            ("auto", &[("OTEL_SDK_DISABLED", "True")], ""),
        ] {
            assert_eq!(url(endpoint, variables), expected, "{endpoint} {variables:?}");
        }
        for text in ["localhost:4318", "ftp://x", "x", "http://u:p@h"] {
            assert!(text.parse::<OtlpEndpoint>().is_err(), "{text}");
        }
    }

    #[test]
    fn variables_set_headers_times_and_the_resource() {
        let variables = [
            ("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20geheim, x-a=b"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "1500"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "700"),
            ("OTEL_SERVICE_NAME", "nightly"),
            ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=a%20b,service.name=other"),
        ];
        let config = config("auto", &variables).unwrap().unwrap();
        assert_eq!(config.headers()["authorization"], "Bearer geheim");
        assert!(!format!("{config:?}").contains("geheim"));
        let (every, timeout) = (Duration::from_millis(1500), Duration::from_millis(700));
        assert_eq!((config.every, config.timeout), (every, timeout));
        let of = |name: &str| config.resource.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        assert_eq!((of("service.name"), of("deployment.environment")), (Some("nightly"), Some("a b")));
        assert!(of("service.version").is_some());
    }

    #[test]
    fn variables_that_cannot_be_used_are_named_without_secrets() {
        for (name, value) in [
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_METRICS_HEADERS", "geheim"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "1m"),
        ] {
            let problem = config("auto", &[(name, value)]).unwrap_err();
            assert!(problem.contains(name) && !problem.contains("geheim"), "{problem}");
        }
    }
}
