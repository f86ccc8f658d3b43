//! Which product answers, and its version.

use std::fmt;
use std::str::FromStr;

use http::Method;
use serde_json::Value;

use super::error::{ClusterError, error_type};
use crate::transport::{NodeUrl, Transport};

/// The two products, and servers that do not tell their product.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Product {
    /// OpenSearch.
    OpenSearch,
    /// Elasticsearch.
    Elasticsearch,
    /// The server did not tell: a gateway hides it, or it is OpenSearch Serverless.
    #[default]
    Unknown,
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Product::OpenSearch => "OpenSearch",
            Product::Elasticsearch => "Elasticsearch",
            Product::Unknown => "unknown product",
        })
    }
}

/// A version, without a suffix after its three numbers (`-SNAPSHOT`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// 8 in 8.19.21.
    pub major: u32,
    /// 19 in 8.19.21.
    pub minor: u32,
    /// 21 in 8.19.21.
    pub patch: u32,
}

impl Version {
    /// The version of three numbers.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Version { major, minor, patch }
    }
}

impl FromStr for Version {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let numbers = s.split(['-', '+']).next().unwrap_or_default();
        let mut parts = numbers.split('.').map(str::parse);
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(Ok(major)), Some(Ok(minor)), patch, None) => match patch.unwrap_or(Ok(0)) {
                Ok(patch) => Ok(Version { major, minor, patch }),
                Err(_) => Err(format!("{s:?} is not a version; expected numbers like 8.19.21")),
            },
            _ => Err(format!("{s:?} is not a version; expected numbers like 8.19.21")),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// What a cluster reports about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterInfo {
    /// The product.
    pub product: Product,
    /// The version, if the cluster reports it.
    pub version: Option<Version>,
    /// The name of the cluster, if it reports one.
    pub cluster_name: Option<String>,
    /// Whether it is Elastic's serverless offering, whose version number does not change.
    pub serverless: bool,
}

impl ClusterInfo {
    /// Whether the server may apply a bulk body in parts while it arrives (`rest.incremental_bulk`,
    /// Elasticsearch 8.16 and later), so that a 400, a 413 or a reset does not mean that nothing
    /// was applied. True if the version is unknown.
    pub fn incremental_bulk(&self) -> bool {
        match (self.product, self.version) {
            (Product::OpenSearch, _) => false,
            (Product::Elasticsearch, Some(version)) => self.serverless || version >= Version::new(8, 16, 0),
            (Product::Elasticsearch, None) | (Product::Unknown, _) => true,
        }
    }

    /// Whether the entries of a bulk reply keep the positions of their items, even if ingest
    /// pipelines drop or reject some (Elasticsearch 8.13 and later, elastic/elasticsearch#104289).
    /// False if the version is unknown.
    pub fn keeps_bulk_order(&self) -> bool {
        match (self.product, self.version) {
            (Product::Elasticsearch, Some(version)) => self.serverless || version >= Version::new(8, 13, 0),
            (Product::Elasticsearch, None) => self.serverless,
            (Product::OpenSearch | Product::Unknown, _) => false,
        }
    }
}

impl fmt::Display for ClusterInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.product)?;
        match self.version {
            Some(version) => write!(f, " {version}"),
            None => Ok(()),
        }
    }
}

/// Asks for product and version by `GET /`. If that is not answered (405 from Elasticsearch's test
/// distribution, 403 and 404 from gateways and OpenSearch Serverless), it asks the local node for
/// its version. If that is refused as well, the product is unknown and the load continues.
///
/// # Errors
/// [`ClusterError`] if no node is reached, if the credentials are rejected, or if another server
/// answers.
pub async fn detect(transport: &Transport) -> Result<ClusterInfo, ClusterError> {
    let path = transport.nodes().iter().map(NodeUrl::path).find(|path| !path.is_empty());
    let problem = match (ask(transport, path).await, path) {
        (Err(ClusterError::Refused { status, reason, .. }), Some(_)) => format!("{status}{reason}"),
        (Err(ClusterError::Reply { problem, .. }), Some(_)) => problem,
        (result, _) => return result,
    };
    let path = path.unwrap_or_default();
    let problem = format!(
        "{problem}; there is a path in the address, {path}, which belongs there only if a proxy has the cluster \
         under it, as in https://host/prefix"
    );
    Err(ClusterError::Reply { what: WHAT.to_owned(), problem })
}

const WHAT: &str = "asking for product and version";

async fn ask(transport: &Transport, path: Option<&str>) -> Result<ClusterInfo, ClusterError> {
    let what = WHAT;
    let answer = transport.ask(Method::GET, "/", None).await?;
    let body = answer.json(what)?;
    match answer.status() {
        200..=299 => from_root(&body).ok_or_else(|| ClusterError::Reply {
            what: what.to_owned(),
            problem: "no version.number in the answer to GET /".to_owned(),
        }),
        // The server saw the path of the address: no proxy has taken it away.
        status @ (404 | 405) if path.is_some_and(|path| is_about(&body, path)) => {
            Err(ClusterError::from_status(what, status, &body))
        }
        status @ 403..=405 => {
            let info = from_nodes(transport, answer.response.elastic_product).await?;
            match &body {
                // Gateways that hide the product answer with JSON or nothing. An HTML page comes
                // from a web server, not from a gateway before a cluster.
                Value::String(page) if status == 404 && info.product == Product::Unknown => Err(ClusterError::Reply {
                    what: what.to_owned(),
                    problem: format!("404: {page}; is a path prefix missing in the address, as in https://host/prefix"),
                }),
                _ => Ok(info),
            }
        }
        status => Err(ClusterError::from_status(what, status, &body)),
    }
}

/// Whether the server's error is about this path, as an index or as an address of its own.
fn is_about(body: &Value, path: &str) -> bool {
    let error = body.get("error").and_then(Value::as_str).unwrap_or_default();
    error.contains(&format!("uri [{path}")) || error_type(body) == Some("index_not_found_exception")
}

async fn from_nodes(transport: &Transport, mut elastic_product: bool) -> Result<ClusterInfo, ClusterError> {
    let answer = transport.ask(Method::GET, "/_nodes/_local?filter_path=nodes.*.version", None).await?;
    elastic_product |= answer.response.elastic_product;
    let body = match answer.status() {
        200..=299 => answer.json("asking for the version of the local node")?,
        401 => return Err(ClusterError::from_status("asking for product and version", 401, &Value::Null)),
        _ => Value::Null,
    };
    let version = body
        .get("nodes")
        .and_then(Value::as_object)
        .and_then(|nodes| nodes.values().next()?.get("version")?.as_str()?.parse::<Version>().ok());
    let product = match version {
        _ if elastic_product => Product::Elasticsearch,
        // OpenSearch began at 1.0 when Elasticsearch was at 7.
        Some(version) if version.major >= 5 => Product::Elasticsearch,
        Some(_) => Product::OpenSearch,
        None => Product::Unknown,
    };
    Ok(ClusterInfo { product, version, cluster_name: None, serverless: false })
}

fn from_root(body: &Value) -> Option<ClusterInfo> {
    let version = body.get("version")?;
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let tagline = body.get("tagline").and_then(Value::as_str).unwrap_or_default();
    let opensearch = version.get("distribution").and_then(Value::as_str) == Some("opensearch")
        || tagline.starts_with("The OpenSearch Project");
    let product = if opensearch {
        Product::OpenSearch
    } else if tagline == "You Know, for Search" {
        Product::Elasticsearch
    } else {
        Product::Unknown
    };
    Some(ClusterInfo {
        product,
        version: Some(version.get("number")?.as_str()?.parse().ok()?),
        cluster_name: text(body.get("cluster_name")),
        serverless: version.get("build_flavor").and_then(Value::as_str) == Some("serverless"),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn versions_are_read() {
        assert_eq!("8.19.21".parse(), Ok(Version::new(8, 19, 21)));
        assert_eq!("3.7.0-SNAPSHOT".parse(), Ok(Version::new(3, 7, 0)));
        assert_eq!("7.17".parse(), Ok(Version::new(7, 17, 0)));
        assert!("eight".parse::<Version>().is_err());
        assert!("8.x.1".parse::<Version>().is_err());
        assert!("1.2.3.4".parse::<Version>().is_err());
        assert!(Version::new(8, 9, 0) < Version::new(8, 16, 0));
    }

    #[test]
    fn roots_of_both_products() {
        let opensearch =
            from_root(&json!({"cluster_name": "c", "version": {"distribution": "opensearch", "number": "3.6.0"},
            "tagline": "The OpenSearch Project: https://opensearch.org/"}))
            .unwrap();
        assert_eq!(opensearch.to_string(), "OpenSearch 3.6.0");
        assert!(!opensearch.incremental_bulk());
        assert!(!opensearch.keeps_bulk_order());

        let in_disguise = from_root(
            &json!({"version": {"number": "7.10.2"}, "tagline": "The OpenSearch Project: https://opensearch.org/"}),
        );
        assert_eq!(in_disguise.unwrap().product, Product::OpenSearch);

        let elastic = |number: &str, flavor: &str| {
            from_root(
                &json!({"version": {"number": number, "build_flavor": flavor}, "tagline": "You Know, for Search"}),
            )
            .unwrap()
        };
        assert!(!elastic("8.15.3", "default").incremental_bulk());
        assert!(elastic("8.16.0", "default").incremental_bulk());
        assert!(elastic("9.0.1", "default").incremental_bulk());
        assert!(elastic("8.11.0", "serverless").incremental_bulk());

        let keeps_order = |number| elastic(number, "default").keeps_bulk_order();
        assert_eq!(["7.17.29", "8.12.2", "8.13.0", "9.1.0"].map(keeps_order), [false, false, true, true]);
        assert!(elastic("8.11.0", "serverless").keeps_bulk_order());

        assert!(from_root(&json!({"hello": "world"})).is_none());
        assert!(ClusterInfo::default().incremental_bulk());
        assert!(!ClusterInfo::default().keeps_bulk_order());
    }
}
