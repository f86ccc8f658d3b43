//! From records to documents and ids.

use std::borrow::Cow;
use std::sync::Arc;

use inrush_cluster::clock;
use inrush_core::Code;
use inrush_core::{Action, DocMeta};

#[cfg(feature = "avro")]
use super::avro;
use super::framing::{KEY_HEADER, SchemaKey, VALUE_HEADER, begins_with_id, framed};
use super::key::Key;
use super::logical::Purpose;
use super::plan::Plans;
#[cfg(feature = "protobuf")]
use super::protobuf;
use super::unavailable::{Unavailable, WORD};
use super::unwrap::{self, Event};
use super::{Metadata, SchemaIds, Unwrap, Values, With, headers, registry};
use crate::{Ids, KafkaOptions};

/// The largest text of all documents of a block, bytes. Positions in it have 32 bits, and a record
/// of a few bytes may describe a document of many.
pub(crate) const BLOCK_BYTES_MAX: usize = 1 << 30;

/// The kind and the reason of a reject.
pub(crate) type Problem = (Code, String);

/// A record that was gathered.
pub(crate) struct Kept<'a> {
    pub(crate) topic: &'a str,
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    /// Milliseconds since 1970.
    pub(crate) timestamp: Option<i64>,
    pub(crate) key: Option<&'a [u8]>,
    pub(crate) value: &'a [u8],
    /// As [`headers::push`] writes them.
    pub(crate) headers: &'a [u8],
}

impl<'a> Kept<'a> {
    pub(super) fn headers(&self) -> impl Iterator<Item = (&'a str, Option<&'a [u8]>)> {
        headers::read(self.headers)
    }

    /// The last header of this name.
    pub(super) fn header(&self, name: &str) -> Option<&'a [u8]> {
        self.headers().filter(|(found, _)| *found == name).last()?.1
    }
}

/// How values become documents, and keys become ids.
pub(crate) struct Shape {
    form: Form,
    unwrap: Unwrap,
    /// Plans of the schemas in envelopes.
    plans: Plans,
    unavailable: Unavailable,
    /// Whether keys are ids.
    has_keys: bool,
    /// What documents are for.
    purpose: Purpose,
    with: Vec<With>,
    document_bytes_max: usize,
}

/// What decodes values.
enum Form {
    Json,
    /// The beginning of each document: `{"field":`.
    Text(Vec<u8>),
    Bulk,
    Registry(Arc<registry::Schemas>, SchemaIds),
    #[cfg(feature = "avro")]
    Avro(avro::Schema),
    #[cfg(feature = "protobuf")]
    Protobuf(protobuf::Message),
}

/// What a value is.
#[derive(Debug)]
pub(super) enum Decoded<'a> {
    /// JSON already.
    Json(&'a [u8]),
    /// JSON that was appended to the output.
    Appended,
}

/// What a record becomes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Made {
    /// The document that was appended.
    Document,
    /// The deletion of a document. It was appended where ids are found in it.
    Delete,
    /// What the value's action line says. The document was appended, unless it is deleted.
    Bulk(DocMeta),
    /// The record has no value.
    Null,
    /// Nothing.
    Nothing,
}

impl Shape {
    /// The shape that the options describe. `None` where values are documents already.
    ///
    /// # Errors
    /// A schema file that cannot be read, a registry that does not answer, options that contradict
    /// each other.
    pub(crate) fn of(options: &KafkaOptions) -> Result<Option<Shape>, String> {
        if !options.values.are_documents() && options.unwrap != Unwrap::None {
            return Err("envelopes are JSON, and option `unwrap` is set for values that are not".to_owned());
        }
        let form = match &options.values {
            Values::Json if options.unwrap == Unwrap::None && options.with.is_empty() => return Ok(None),
            Values::Json => Form::Json,
            Values::Text { field } => {
                let mut beginning = b"{".to_vec();
                inrush_formats::json_string::push_text(&mut beginning, field);
                beginning.push(b':');
                Form::Text(beginning)
            }
            Values::Bulk => Form::Bulk,
            Values::Registry(registry) => {
                Form::Registry(registry::Schemas::open(registry, options.is_merged)?, registry.ids)
            }
            Values::Avro { schema_file } => open_avro(schema_file)?,
            Values::Protobuf { schema_file, message } => {
                open_protobuf(schema_file, message.as_deref(), options.is_merged)?
            }
        };
        let word = options.unavailable_value.as_deref().unwrap_or(WORD);
        Ok(Some(Shape {
            form,
            unwrap: options.unwrap,
            plans: Plans::default(),
            unavailable: Unavailable::new(word, options.is_merged)?,
            has_keys: matches!(options.ids, Ids::Key | Ids::KeyOrPosition),
            purpose: if options.is_merged { Purpose::Merge } else { Purpose::Document },
            with: options.with.clone(),
            document_bytes_max: options.document_bytes_max.min(BLOCK_BYTES_MAX),
        }))
    }

    /// The envelope around documents.
    pub(crate) fn unwrap(&self) -> Unwrap {
        self.unwrap
    }

    /// Whether a schema may describe keys.
    pub(crate) fn has_registry(&self) -> bool {
        matches!(self.form, Form::Registry(..))
    }

    /// Whether values say themselves what they do.
    pub(crate) fn is_bulk(&self) -> bool {
        matches!(self.form, Form::Bulk)
    }

    /// Whether headers of this name are kept.
    pub(crate) fn keeps(&self, header: &str) -> bool {
        if matches!(self.form, Form::Registry(..)) && matches!(header, KEY_HEADER | VALUE_HEADER) {
            return true;
        }
        self.with.iter().any(|with| match &with.metadata {
            Metadata::Headers => true,
            Metadata::Header(name) => name == header,
            _ => false,
        })
    }

    /// The schemas that a record names, of its value and of its key.
    pub(crate) fn schemas_of(&self, record: &Kept<'_>) -> [Option<SchemaKey>; 2] {
        match &self.form {
            Form::Registry(_, ids) => [(VALUE_HEADER, Some(record.value)), (KEY_HEADER, record.key)]
                .map(|(header, bytes)| Some(framed(record.header(header), bytes?, *ids)?.schema)),
            _ => [None, None],
        }
    }

    /// Removes the schemas that a block has not to wait for. The others are asked for.
    pub(super) fn ask(&self, schemas: &mut Vec<SchemaKey>) {
        match &self.form {
            Form::Registry(known, _) => known.ask(schemas, clock::now()),
            _ => schemas.clear(),
        }
    }

    /// The key of a record. `None` if it has none.
    pub(crate) fn key(&self, record: &Kept<'_>) -> Result<Option<Key>, Problem> {
        let Some(bytes) = record.key else { return Ok(None) };
        let mut decoded: Vec<u8> = Vec::new();
        let json = match &self.form {
            Form::Registry(known, ids) => match framed(record.header(KEY_HEADER), bytes, *ids) {
                Some(framed) => {
                    match known.decode(
                        "key",
                        record.topic,
                        framed,
                        self.document_bytes_max,
                        Purpose::Key,
                        &mut decoded,
                    )? {
                        Decoded::Json(json) => Some(json),
                        Decoded::Appended => Some(&decoded[..]),
                    }
                }
                None => None,
            },
            _ => None,
        };
        let json = match (self.unwrap, json) {
            (Unwrap::None, None) => return Ok(Some(Key::Bytes(bytes.to_vec()))),
            (Unwrap::None, Some(json)) => Cow::Borrowed(json),
            (_, json) => {
                let json = json.unwrap_or(bytes);
                match unwrap::payload(json, &self.plans, Purpose::Key) {
                    Some(Some(payload)) => payload,
                    Some(None) => return Ok(None),
                    None => json.into(),
                }
            }
        };
        Ok(match serde_json::from_slice::<&serde_json::value::RawValue>(&json) {
            Ok(value) if value.get() == "null" => None,
            Ok(value) => Some(Key::Json(value.get().as_bytes().to_vec())),
            // Text of a converter that knows no JSON.
            Err(_) => Some(Key::Bytes(bytes.to_vec())),
        })
    }

    /// Appends what the record becomes. `scratch` is a buffer for intermediate forms. Where this
    /// is an error, the output may have grown.
    pub(crate) fn make(&self, record: &Kept<'_>, scratch: &mut Vec<u8>, out: &mut Vec<u8>) -> Result<Made, Problem> {
        if let Form::Bulk = self.form {
            return self.bulk(record, out);
        }
        let start = out.len();
        if self.unwrap == Unwrap::None && self.with.is_empty() {
            match self.decode(record, out)? {
                Decoded::Json(json) => out.extend_from_slice(json),
                Decoded::Appended if &out[start..] == b"null" => return Ok(Made::Null),
                Decoded::Appended => {}
            }
            return object(&out[start..]).map(|()| Made::Document);
        }
        scratch.clear();
        // A null of a schema is no value. The text `null` is a value that is no document.
        let (json, is_null) = match self.decode(record, scratch)? {
            Decoded::Json(json) => (json, false),
            Decoded::Appended => (&scratch[..], &scratch[..] == b"null"),
        };
        let event = match self.unwrap {
            Unwrap::None if is_null => Event::Null,
            Unwrap::None => Event::Document(Cow::Borrowed(json)),
            Unwrap::Connect => unwrap::connect(json, &self.plans)?,
            Unwrap::Debezium => unwrap::debezium(json, &self.plans, self.has_keys && record.key.is_some())?,
            Unwrap::DebeziumFlat if is_null => Event::Null,
            Unwrap::DebeziumFlat => unwrap::flat(json, &self.plans),
        };
        match event {
            Event::Document(mut document) => {
                object(&document)?;
                if self.unwrap.is_of_debezium()
                    && let Some(left) = self.unavailable.without(&document)?
                {
                    document = left.into();
                }
                self.add(record, &document, out).map(|()| Made::Document)
            }
            Event::Delete(before) => {
                out.extend_from_slice(&before.unwrap_or_default());
                Ok(Made::Delete)
            }
            Event::Null => Ok(Made::Null),
            Event::Nothing => Ok(Made::Nothing),
        }
    }

    /// Takes a value apart that is an item of a bulk body.
    fn bulk(&self, record: &Kept<'_>, out: &mut Vec<u8>) -> Result<Made, Problem> {
        without_registry(record.value)?;
        let (meta, document) = inrush_formats::bulk_item(record.value).map_err(|reason| (Code::BadBulkItem, reason))?;
        if meta.action != Some(Action::Delete) {
            let document = &record.value[document];
            object(document)?;
            self.add(record, document, out)?;
        }
        Ok(Made::Bulk(meta))
    }

    /// Appends the document with the metadata that become fields of it.
    fn add(&self, record: &Kept<'_>, document: &[u8], out: &mut Vec<u8>) -> Result<(), Problem> {
        if self.with.is_empty() {
            out.extend_from_slice(document);
            return Ok(());
        }
        let mut members = Vec::with_capacity(self.with.len());
        for with in &self.with {
            if let Some(member) = with.member(record, || self.key(record))? {
                members.push((&with.field[..], member));
            }
        }
        if inrush_formats::add_members(document, &members, out).is_some() {
            return Ok(());
        }
        // `object` has seen its brace, so it is damaged behind that.
        let error = serde_json::from_slice::<serde::de::IgnoredAny>(document).err();
        let why = error.map_or_else(|| "it is no object".to_owned(), |error| error.to_string());
        Err((Code::InvalidJson, format!("the value is not JSON: {why}")))
    }

    fn decode<'a>(&self, record: &Kept<'a>, out: &mut Vec<u8>) -> Result<Decoded<'a>, Problem> {
        match &self.form {
            Form::Json | Form::Bulk => return without_registry(record.value).map(|()| Decoded::Json(record.value)),
            Form::Text(beginning) => {
                let text = std::str::from_utf8(record.value).map_err(|error| {
                    let byte = error.valid_up_to();
                    (Code::BadValue, format!("byte {byte} of the value is not UTF-8, and the value is read as text"))
                })?;
                out.extend_from_slice(beginning);
                inrush_formats::json_string::push_text(out, text);
                out.push(b'}');
            }
            Form::Registry(known, ids) => match framed(record.header(VALUE_HEADER), record.value, *ids) {
                Some(framed) => {
                    return known.decode("value", record.topic, framed, self.document_bytes_max, self.purpose, out);
                }
                None => return Err(registry::not_framed(record.value)),
            },
            #[cfg(feature = "avro")]
            Form::Avro(schema) => {
                let decoded = schema.decode(record.value, self.document_bytes_max, self.purpose, out);
                decoded.map_err(|problem| perhaps_registry(record.value, problem))?;
            }
            #[cfg(feature = "protobuf")]
            Form::Protobuf(message) => {
                let decoded = message.decode(record.value, self.purpose, out);
                decoded.map_err(|problem| perhaps_registry(record.value, problem))?;
            }
        }
        Ok(Decoded::Appended)
    }
}

/// Refuses a value that begins with the id of a schema, where no registry is given. No JSON begins
/// so.
pub(crate) fn without_registry(value: &[u8]) -> Result<(), Problem> {
    match begins_with_id(value) {
        false => Ok(()),
        true => Err((
            Code::NoSchema,
            "the value begins with a byte 0 and four bytes of a schema's id, as values of a schema registry do; name \
             the registry with option `schema_registry`"
                .to_owned(),
        )),
    }
}

/// A value of one schema that does not fit, and looks as if a registry has its schema.
#[cfg(any(feature = "avro", feature = "protobuf"))]
fn perhaps_registry(value: &[u8], (code, mut reason): Problem) -> Problem {
    if begins_with_id(value) {
        reason.push_str(
            " The value begins with a byte 0, as values of a schema registry do: name it with option \
             `schema_registry` in the place of option `schema_file`",
        );
    }
    (code, reason)
}

/// Whether a document is a JSON object. Behind its first byte it is not looked at.
fn object(document: &[u8]) -> Result<(), Problem> {
    match document.trim_ascii_start().first() {
        Some(b'{') => Ok(()),
        _ => {
            let found = inrush_formats::beginning(document);
            Err((Code::NotAnObject, format!("the value is `{found}`; a document is a JSON object")))
        }
    }
}

#[cfg(feature = "avro")]
fn open_avro(schema_file: &std::path::Path) -> Result<Form, String> {
    avro::Schema::read(schema_file).map(Form::Avro)
}

#[cfg(not(feature = "avro"))]
fn open_avro(_: &std::path::Path) -> Result<Form, String> {
    Err(not_built("Avro"))
}

#[cfg(feature = "protobuf")]
fn open_protobuf(schema_file: &std::path::Path, message: Option<&str>, has_nulls: bool) -> Result<Form, String> {
    protobuf::Message::read(schema_file, message, has_nulls).map(Form::Protobuf)
}

#[cfg(not(feature = "protobuf"))]
fn open_protobuf(_: &std::path::Path, _: Option<&str>, _: bool) -> Result<Form, String> {
    Err(not_built("Protobuf"))
}

#[cfg(not(all(feature = "avro", feature = "protobuf")))]
fn not_built(what: &str) -> String {
    format!("this build reads no values of {what}; use the full build")
}
