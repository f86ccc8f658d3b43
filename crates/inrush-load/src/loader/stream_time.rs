//! The time that documents of a data stream need.

use inrush_cluster::api::{Product, Target, TargetKind, data_streams};
use inrush_cluster::transport::Transport;
use inrush_core::Action;
use inrush_core::date_forms::{DayOrder, Moment};
use inrush_core::encode::Shape;
use inrush_core::shaping::TIMESTAMP;
use inrush_sources::Begun;
use serde_json::Value;

use crate::config::LoadConfig;
use crate::error::LoadError;
use crate::option_error::{OptionError, OptionErrorKind};

/// The documents of the beginning in which fields that are needed are looked for.
pub(super) const DOCS_MAX: usize = 1_000;

/// Names of fields that hold the time of an event, the likeliest first.
const NAMES: [&str; 12] = [
    "timestamp",
    "time",
    "ts",
    "datetime",
    "date_time",
    "event_time",
    "eventtime",
    "time_local",
    "logged_at",
    "created_at",
    "created",
    "date",
];

/// A data stream that the documents go to, or that they create.
pub(crate) struct Stream<'a> {
    pub(crate) transport: &'a Transport,
    pub(crate) target: &'a Target,
    /// That of the cluster.
    pub(crate) product: Product,
}

impl<'a> Stream<'a> {
    /// The stream, if its documents have to bring their time: no pipeline can add it.
    pub(super) fn without_pipelines(
        transport: &'a Transport,
        target: Option<&'a Target>,
        product: Product,
        pipelines: bool,
    ) -> Option<Self> {
        let target = target.filter(|target| match &target.kind {
            TargetKind::DataStream { .. } => true,
            TargetKind::Missing { template, .. } => template.as_ref().is_some_and(|template| template.data_stream),
            TargetKind::Index(_) | TargetKind::Alias { .. } | TargetKind::Hidden => false,
        });
        target.filter(|_| !pipelines).map(|target| Stream { transport, target, product })
    }

    /// Whether documents for this target have to bring their time in the usual field.
    pub(crate) async fn needs_time(transport: &Transport, target: &Target, product: Product, pipelines: bool) -> bool {
        match Stream::without_pipelines(transport, Some(target), product, pipelines) {
            Some(stream) => stream.needs_timestamp().await,
            None => false,
        }
    }

    /// Whether the field with the time is the usual one. OpenSearch lets a template name another.
    async fn needs_timestamp(&self) -> bool {
        if self.product == Product::Elasticsearch {
            return true;
        }
        let (stream, template) = match &self.target.kind {
            TargetKind::Missing { template, .. } => {
                (&self.target.name, template.as_ref().map(|template| template.name.as_str()))
            }
            // The target may be an alias of the stream.
            TargetKind::DataStream { stream, .. } => (stream, None),
            _ => (&self.target.name, None),
        };
        let field = data_streams::time_field(self.transport, stream, template).await;
        // Without an answer the first document shows it.
        field.is_ok_and(|field| field == TIMESTAMP)
    }
}

/// The first document, if no document of the beginning has the time.
pub(super) fn untimed(begun: &Begun, config: &LoadConfig) -> Option<Value> {
    if !matches!(config.action, Action::Index | Action::Create) {
        return None;
    }
    let (shape, mut buffer, mut first) = (Shape::new(&config.shaping), Vec::new(), None);
    for document in begun.first_documents().take(DOCS_MAX) {
        let document = shape.of(document, &mut buffer).ok()?;
        let document: Value = serde_json::from_slice(document).ok().filter(Value::is_object)?;
        if document.get(TIMESTAMP).is_some() {
            return None;
        }
        first = first.or(Some(document));
    }
    first
}

/// Refuses documents like this one, which have no time.
pub(super) async fn check(stream: &Stream<'_>, first: Option<Value>) -> Result<(), LoadError> {
    let Some(first) = first else { return Ok(()) };
    if !stream.needs_timestamp().await {
        return Ok(());
    }
    let (message, hint) = missing(&stream.target.name, &first);
    Err(OptionError::new(OptionErrorKind::Missing, message).of("timestamp").hint(hint).into())
}

/// What is wrong with documents like this one, and the cure.
pub(crate) fn missing(stream: &str, document: &Value) -> (String, String) {
    let message =
        format!("{stream} is a data stream, whose documents need the field {TIMESTAMP}, but the documents have none");
    let hint = match likely(document) {
        Some(field) => format!("their time seems to be {field}: give option `timestamp={field}`"),
        None => "name the field that has their time with option `timestamp=FIELD`".to_owned(),
    };
    (message, hint)
}

/// The field that most likely has the time of a document: one with a usual name, or the first text
/// that is a time.
fn likely(document: &Value) -> Option<String> {
    let mut times = Vec::new();
    collect(document, "", &mut times);
    let rank = |name: &str| {
        let last = name.rsplit('.').next().unwrap_or(name).trim_start_matches(['@', '_']).to_ascii_lowercase();
        NAMES.iter().position(|usual| *usual == last)
    };
    let named = times.iter().filter_map(|(name, _)| Some((rank(name)?, name))).min();
    let texts = times.iter().find(|(_, is_text)| *is_text).map(|(name, _)| name);
    named.map(|(_, name)| name).or(texts).cloned()
}

/// Adds the fields that can be read as a time, and whether they are texts with one.
fn collect(value: &Value, path: &str, times: &mut Vec<(String, bool)>) {
    let is_time = |text: &str| Moment::read(text, DayOrder::Unknown);
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                collect(value, &path, times);
            }
        }
        Value::String(text) => {
            if let Some(time) = is_time(text) {
                times.push((path.to_owned(), !time.is_day()));
            }
        }
        Value::Number(number) if is_time(&number.to_string()).is_some() => times.push((path.to_owned(), false)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use inrush_cluster::api::index;
    use inrush_cluster::transport::{Credentials, HttpOptions};
    use inrush_fake::{FakeCluster, FakeConfig};
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_stream_is_asked_for_by_its_own_name_unless_the_name_of_the_time_is_known() {
        let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
        let template = json!({"index_patterns": ["logs-*"], "data_stream": {}});
        fake.call("PUT", "/_index_template/streams", template).unwrap();
        fake.call("PUT", "/_data_stream/logs-web", Value::Null).unwrap();
        let transport = Transport::new(&[fake.url()], Credentials::None, &HttpOptions::default()).unwrap();
        let mut target = index::resolve(&transport, "logs-web").await.unwrap();
        target.name = "alias".to_owned();
        assert!(Stream::needs_time(&transport, &target, Product::OpenSearch, false).await);
        if let TargetKind::DataStream { stream, .. } = &mut target.kind {
            *stream = "unknown".to_owned();
        }
        assert!(!Stream::needs_time(&transport, &target, Product::OpenSearch, false).await);
        assert!(Stream::needs_time(&transport, &target, Product::Elasticsearch, false).await);
        assert!(!Stream::needs_time(&transport, &target, Product::Elasticsearch, true).await);
    }

    #[test]
    fn the_likely_field_has_a_usual_name_or_a_text_that_is_a_time() {
        for (document, expected) in [
            (json!({"size": 5, "timestamp": "28/Nov/2025:13:55:36 +0100"}), Some("timestamp")),
            (json!({"date": "2025-11-28", "ts": 1_764_334_536}), Some("ts")),
            (json!({"seen": "2025-11-28 10:00", "Created_At": "2025-11-28T10:00:00Z"}), Some("Created_At")),
            (json!({"seen": "2025-11-28 10:00", "born": "1970-01-01"}), Some("seen")),
            (json!({"event": {"time": "2025-11-28 10:00"}}), Some("event.time")),
            (json!({"time": "soon", "n": 1_764_334_536}), None),
            (json!({"time": 12.5, "born": "1970-01-01"}), None),
        ] {
            assert_eq!(likely(&document).as_deref(), expected, "{document}");
        }
        let (message, hint) = missing("logs-web", &json!({"ts": 1_764_334_536}));
        assert!(message.starts_with("logs-web is a data stream, whose documents need the field @timestamp"));
        assert_eq!(hint, "their time seems to be ts: give option `timestamp=ts`");
        assert!(missing("logs-web", &json!({"a": 1})).1.contains("option `timestamp=FIELD`"));
    }
}
