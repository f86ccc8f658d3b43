//! Requests to a schema registry.
//!
//! Confluent's API: <https://docs.confluent.io/platform/current/schema-registry/develop/api.html>.

use std::collections::HashSet;

use http::Method;
use inrush_cluster::transport::{HttpOptions, NodeUrl, Request, Response, Transport, path_segment};
use serde::Deserialize;
use url::Url;

use super::SchemaKey;
use crate::SchemaRegistry;

/// The largest reply, bytes.
const REPLY_BYTES_MAX: usize = 64 << 20;
/// The most schemas that one may refer to, with those that they refer to.
const REFERENCES_MAX: usize = 1_000;

/// A registry.
pub(super) struct Client {
    transport: Transport,
    url: NodeUrl,
}

/// A schema as the registry has it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// `AVRO`, `PROTOBUF` or `JSON`.
    pub(super) kind: String,
    pub(super) text: String,
    /// Name and text of the schemas that it refers to. Each follows those that it refers to itself.
    pub(super) references: Vec<(String, String)>,
}

/// Why there is no schema.
#[derive(Debug)]
pub(super) enum Failure {
    /// The registry has none, or gives none to this user.
    Unknown(String),
    /// The registry has one that cannot be read.
    Unusable(String),
    /// The registry does not answer as it should, and may do so later.
    Away(String),
    /// The registry refuses the credentials, or is none.
    Refused(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reply {
    schema: String,
    schema_type: Option<String>,
    #[serde(default)]
    references: Option<Vec<Reference>>,
}

#[derive(Deserialize)]
struct Reference {
    name: String,
    subject: String,
    version: i64,
}

#[derive(Deserialize)]
struct Refusal {
    error_code: i64,
    #[serde(default)]
    message: String,
}

impl Client {
    pub(super) fn new(registry: &SchemaRegistry) -> Result<Client, String> {
        let wrong = |error: String| format!("the schema registry: {error}");
        let address = with_port(&registry.url).unwrap_or_else(|| registry.url.clone());
        let mut options = HttpOptions { reply_bytes_max: REPLY_BYTES_MAX, ..HttpOptions::default() };
        options.tls = registry.tls.clone();
        let transport = Transport::new(&[address], registry.credentials.clone(), &options);
        let transport = transport.map_err(|error| wrong(error.to_string()))?;
        let url = transport.nodes()[0].clone();
        Ok(Client { transport, url })
    }

    pub(super) fn url(&self) -> &NodeUrl {
        &self.url
    }

    /// Asks for something that each registry has.
    pub(super) async fn check(&self) -> Result<(), Failure> {
        let reply = self.get("/schemas/types").await?;
        match serde_json::from_slice::<Vec<String>>(&reply.body) {
            Ok(_) if reply.status == 200 => Ok(()),
            _ if reply.status == 403 => Err(refused(403)),
            _ => Err(Failure::Refused(format!(
                "it answers {} to /schemas/types, so it is no schema registry at this path; that of Apicurio is \
                 /apis/ccompat/v7",
                reply.status
            ))),
        }
    }

    /// A schema, and those that it refers to.
    pub(super) async fn find(&self, key: SchemaKey) -> Result<Found, Failure> {
        let path = match key {
            SchemaKey::Id(id) => format!("/schemas/ids/{id}"),
            SchemaKey::Guid(_) => format!("/schemas/guids/{key}"),
        };
        let Reply { schema, schema_type, references } = self.schema(&path).await?;
        let mut found =
            Found { kind: schema_type.unwrap_or_else(|| "AVRO".to_owned()), text: schema, references: Vec::new() };
        // Each entry is put down when those that it refers to are.
        let mut waiting: Vec<Step> = references.into_iter().flatten().rev().map(Step::Ask).collect();
        let mut asked = HashSet::new();
        while let Some(step) = waiting.pop() {
            match step {
                Step::Found(name, text) => found.references.push((name, text)),
                Step::Ask(Reference { name, subject, version }) => {
                    if !asked.insert((subject.clone(), version)) {
                        continue;
                    }
                    if asked.len() > REFERENCES_MAX {
                        return Err(Failure::Unusable(format!("it refers to more than {REFERENCES_MAX} others")));
                    }
                    let path = format!("/subjects/{}/versions/{version}", path_segment(&subject));
                    let reply = self.schema(&path).await?;
                    waiting.push(Step::Found(name, reply.schema));
                    waiting.extend(reply.references.into_iter().flatten().rev().map(Step::Ask));
                }
            }
        }
        Ok(found)
    }

    async fn schema(&self, path: &str) -> Result<Reply, Failure> {
        let reply = self.get(path).await?;
        let failure = if reply.status == 200 {
            match serde_json::from_slice(&reply.body) {
                Ok(found) => return Ok(found),
                Err(error) => Failure::Unusable(format!("its answer to {path} is no schema: {error}")),
            }
        } else if let (404, Ok(refusal)) = (reply.status, serde_json::from_slice::<Refusal>(&reply.body)) {
            let Refusal { error_code, message } = refusal;
            return Err(Failure::Unknown(format!("it answers {error_code} to {path}: {message}")));
        } else {
            let body = inrush_formats::beginning(&reply.body);
            Failure::Unknown(format!("it answers {} to {path}: {body}", reply.status))
        };
        // A proxy in between, or withdrawn credentials, have such answers to every path. Only a
        // registry that answers elsewhere says something about this schema.
        self.check().await.and(Err(failure))
    }

    /// Every reply but those that refuse the credentials, or say that the registry is away.
    async fn get(&self, path: &str) -> Result<Response, Failure> {
        let request = Request::new(Method::GET, path);
        let reply = self.transport.request_to(0, &request).await.map_err(|error| Failure::Away(error.to_string()))?;
        match reply.status {
            401 => Err(refused(401)),
            408 | 429 | 500.. => Err(Failure::Away(format!(
                "it answers {} to {path}: {}",
                reply.status,
                inrush_formats::beginning(&reply.body)
            ))),
            _ => Ok(reply),
        }
    }
}

fn refused(status: u16) -> Failure {
    Failure::Refused(format!("it answers {status}; check its credentials"))
}

enum Step {
    Ask(Reference),
    Found(String, String),
}

/// The same address with the port of its scheme, where it has none: the default of a search server
/// is another one. `None` if it is no address.
fn with_port(text: &str) -> Option<String> {
    let url = Url::parse(text.trim()).ok()?;
    let (host, port) = (url.host_str()?, url.port_or_known_default()?);
    let user = match (url.username(), url.password()) {
        ("", None) => String::new(),
        (user, None) => format!("{user}@"),
        (user, Some(password)) => format!("{user}:{password}@"),
    };
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    Some(format!("{}://{user}{host}:{port}{}{query}", url.scheme(), url.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_get_the_port_of_their_scheme() {
        for (text, expected) in [
            ("http://host", "http://host:80"),
            ("https://host/apis/ccompat/v7/", "https://host:443/apis/ccompat/v7"),
            ("http://me:p%40ss@host:8081", "http://host:8081"),
            ("http://[::1]:8081", "http://[::1]:8081"),
        ] {
            let client = Client::new(&SchemaRegistry::new(text)).unwrap();
            assert_eq!(client.url().to_string(), expected);
        }
    }

    #[test]
    fn other_addresses_are_refused_without_their_secrets() {
        for text in ["host:8081", "ftp://host", "http://me:hunter2@host?a=1", ""] {
            let error = Client::new(&SchemaRegistry::new(text)).err().unwrap();
            assert!(error.starts_with("the schema registry: ") && !error.contains("hunter2"), "{error}");
        }
    }
}
