//! Ingest pipelines with the processors `drop`, `fail`, `remove`, `reroute` and `set`.

use bytes::Bytes;
use serde_json::{Map, Value};

use super::op::Op;
use crate::error::ServerError;
use crate::product::Flavor;

/// A pipeline.
#[derive(Clone, Debug)]
pub(crate) struct Pipeline {
    /// The body as it was put, which `GET _ingest/pipeline` shows.
    pub(crate) body: Value,
    processors: Vec<Processor>,
}

/// The result of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piped {
    /// The document is written, perhaps changed or into another index.
    Kept,
    /// The document is dropped: its item says `noop`.
    Dropped,
}

#[derive(Clone, Debug)]
struct Processor {
    condition: Option<Condition>,
    step: Step,
}

#[derive(Clone, Debug)]
enum Step {
    Drop,
    Reroute(String),
    Set(String, Value),
    Remove(String),
    Fail(String),
}

/// `ctx.field == literal` or `ctx.field != literal`, the only scripts that the fake understands.
#[derive(Clone, Debug)]
struct Condition {
    field: String,
    equal: bool,
    literal: Value,
}

impl Pipeline {
    /// Reads `{"processors": […]}`.
    ///
    /// # Errors
    ///
    /// 400 `parse_exception` for a processor that the product or the fake does not have.
    pub(crate) fn parse(body: &Value, flavor: &Flavor) -> Result<Self, ServerError> {
        let missing = || ServerError::new(400, "parse_exception", "[processors] required property is missing");
        let list = body.get("processors").and_then(Value::as_array).ok_or_else(missing)?;
        let mut processors = Vec::new();
        for one in list {
            let Some((name, options)) = one.as_object().and_then(|object| object.iter().next()) else {
                return Err(missing());
            };
            let text = |key: &str| options.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            let step = match name.as_str() {
                "drop" => Step::Drop,
                "reroute" if flavor.is_elasticsearch_8() => Step::Reroute(text("destination")),
                "set" => Step::Set(text("field"), options.get("value").cloned().unwrap_or_default()),
                "remove" => Step::Remove(text("field")),
                "fail" => Step::Fail(text("message")),
                other => {
                    return Err(ServerError::new(
                        400,
                        "parse_exception",
                        format!("No processor type exists with name [{other}]"),
                    )
                    .with("processor_type", other));
                }
            };
            let condition = match options.get("if").and_then(Value::as_str) {
                Some(script) => Some(Condition::parse(script)?),
                None => None,
            };
            processors.push(Processor { condition, step });
        }
        Ok(Pipeline { body: body.clone(), processors })
    }

    /// Runs a document through the processors.
    ///
    /// # Errors
    ///
    /// The message of a `fail` processor, a `remove` of a missing field, or a document that is not
    /// a JSON object.
    pub(super) fn run(&self, op: &mut Op, flavor: &Flavor) -> Result<Piped, ServerError> {
        let mut document: Map<String, Value> = match serde_json::from_slice(&op.source) {
            Ok(document) => document,
            Err(error) => {
                let kind = if flavor.is_elasticsearch_8() { "x_content_parse_exception" } else { "parse_exception" };
                return Err(ServerError::new(400, kind, format!("Failed to parse content to map: {error}")));
            }
        };
        let mut changed = false;
        for processor in &self.processors {
            if processor.condition.as_ref().is_some_and(|condition| !condition.holds(&document)) {
                continue;
            }
            match &processor.step {
                Step::Drop => return Ok(Piped::Dropped),
                Step::Reroute(destination) => op.index.clone_from(destination),
                Step::Set(field, value) => match field.as_str() {
                    "_index" => op.index = value.as_str().unwrap_or_default().to_owned(),
                    "_id" => op.id = value.as_str().map(str::to_owned),
                    "_routing" => op.routing = value.as_str().map(str::to_owned),
                    _ => {
                        document.insert(field.clone(), value.clone());
                        changed = true;
                    }
                },
                Step::Remove(field) => {
                    if document.remove(field).is_none() {
                        return Err(ServerError::illegal_argument(format!(
                            "field [{field}] not present as part of path [{field}]"
                        )));
                    }
                    changed = true;
                }
                Step::Fail(message) => {
                    return Err(ServerError::new(500, "fail_processor_exception", message.clone()));
                }
            }
        }
        if changed {
            op.source = Bytes::from(serde_json::to_vec(&document).unwrap_or_default());
        }
        Ok(Piped::Kept)
    }
}

impl Condition {
    fn parse(script: &str) -> Result<Self, ServerError> {
        let unknown = || {
            ServerError::new(400, "script_exception", "compile error").caused_by(
                "illegal_argument_exception",
                format!("the fake cluster understands conditions like ctx.field == 'text', not [{script}]"),
            )
        };
        let (equal, (left, right)) = match (script.split_once("=="), script.split_once("!=")) {
            (Some(sides), _) => (true, sides),
            (None, Some(sides)) => (false, sides),
            (None, None) => return Err(unknown()),
        };
        let field = left.trim().strip_prefix("ctx.").ok_or_else(unknown)?.to_owned();
        let right = right.trim();
        let literal = match right.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
            Some(text) => Value::String(text.to_owned()),
            None => serde_json::from_str(right).map_err(|_| unknown())?,
        };
        Ok(Condition { field, equal, literal })
    }

    fn holds(&self, document: &Map<String, Value>) -> bool {
        let value = document.get(&self.field).unwrap_or(&Value::Null);
        (*value == self.literal) == self.equal
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn processors_are_those_of_the_product() {
        let reroute = json!({"processors": [{"reroute": {"destination": "x"}}]});
        assert!(Pipeline::parse(&reroute, &Flavor::elasticsearch_8()).is_ok());
        let error = Pipeline::parse(&reroute, &Flavor::opensearch_3()).expect_err("no reroute");
        assert_eq!(error.reason, "No processor type exists with name [reroute]");
        let script = json!({"processors": [{"drop": {"if": "ctx.n > 1"}}]});
        assert_eq!(Pipeline::parse(&script, &Flavor::opensearch_3()).expect_err("script").kind, "script_exception");
    }
}
