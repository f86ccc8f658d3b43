//! The address of an item: index, id, routing value and version, from the source and the document.

use std::borrow::Cow;

use inrush_smile::DEPTH_MAX;

use super::fields::{self, NoScalar, Shallow, write_string};
use crate::block::DocMeta;
use crate::codes::Code;
use crate::date_forms::{DayOrder, Moment};
use crate::date_value::NoMoment;
use crate::operation::{Action, FieldPath, ID_LEN_MAX, IndexPart, Operations, VersionType, check_index_name};

/// Why a document cannot be sent: the kind and the reason of the reject.
pub(super) type Refusal = (Code, String);

/// The fields of an action line.
pub(super) struct Address<'a> {
    /// The index; `None` if the request path names it.
    pub(super) index: Option<String>,
    /// The id; `None` if the server generates it.
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) routing: Option<Cow<'a, str>>,
    pub(super) version: Option<(u64, VersionType)>,
}

impl<'a> Address<'a> {
    /// The address of a document. Values of the source take precedence over fields of the job, and
    /// these over fields that the source names.
    #[inline]
    pub(super) fn of(
        operations: &Operations,
        document: &'a [u8],
        meta: &'a DocMeta,
        action: Action,
    ) -> Result<Self, Refusal> {
        let fields = meta.fields.as_deref();
        let id = match (&meta.id, operations.id.as_ref().or_else(|| fields?.id.as_ref())) {
            (Some(id), _) => Some(id.as_str().into()),
            (None, Some(path)) => Some(required(shallow(document)?, meta, path, "id")?),
            (None, None) => None,
        };
        check_id(id.as_deref(), action)?;
        let routing = match (&meta.routing, operations.routing.as_ref().or_else(|| fields?.routing.as_ref())) {
            (Some(routing), _) => Some(routing.as_str().into()),
            (None, Some(path)) => Some(required(shallow(document)?, meta, path, "routing")?),
            (None, None) => None,
        };
        let of_source = || fields.and_then(|fields| fields.version.as_ref());
        let version = match (meta.version, &operations.version) {
            (Some(version), _) => Some((version, meta.version_type)),
            (None, Some(path)) => Some((version_of(shallow(document)?, meta, path)?, VersionType::External)),
            (None, None) => match of_source() {
                Some(path) => Some((version_of(shallow(document)?, meta, path)?, meta.version_type)),
                None => None,
            },
        };
        if version.is_some() {
            check_versioned(id.is_some(), action)?;
        }
        let index = match &meta.index {
            Some(index) => {
                check_index_name(index).map_err(|e| (Code::BadIndexName, e))?;
                Some(index.clone())
            }
            None if operations.index.fixed().is_some() => None,
            None => Some(index_of(operations, shallow(document)?, meta)?),
        };
        Ok(Address { index, id, routing, version })
    }

    /// Appends the action line with its line end.
    #[inline]
    pub(super) fn write_action_line(&self, action: Action, body: &mut Vec<u8>) {
        body.extend_from_slice(b"{\"");
        body.extend_from_slice(action.bulk_key().as_bytes());
        body.extend_from_slice(b"\":{");
        let mut separator: &[u8] = b"";
        let mut string = |body: &mut Vec<u8>, name: &str, value: &str| {
            body.extend_from_slice(separator);
            body.push(b'"');
            body.extend_from_slice(name.as_bytes());
            body.extend_from_slice(b"\":");
            write_string(body, value);
            separator = b",";
        };
        if let Some(index) = &self.index {
            string(body, "_index", index);
        }
        if let Some(id) = &self.id {
            string(body, "_id", id);
        }
        if let Some(routing) = &self.routing {
            string(body, "routing", routing);
        }
        if let Some((version, kind)) = self.version {
            body.extend_from_slice(separator);
            let kind = kind.name();
            body.extend_from_slice(format!("\"version\":{version},\"version_type\":\"{kind}\"").as_bytes());
        }
        body.extend_from_slice(b"}}\n");
    }
}

/// Checks what would spoil the whole request: an empty id, one that is too long, or a missing one.
#[inline]
fn check_id(id: Option<&str>, action: Action) -> Result<(), Refusal> {
    match id {
        Some("") => Err((Code::MissingId, "the id is empty; servers refuse the whole request for that".to_owned())),
        Some(id) if id.len() > ID_LEN_MAX => {
            let start = &id[..id.floor_char_boundary(64)];
            let reason = format!(
                "the id has {} bytes, and servers accept at most {ID_LEN_MAX}; it starts with {start:?}",
                id.len()
            );
            Err((Code::IdTooLong, reason))
        }
        None if action.needs_id() => {
            let key = action.bulk_key();
            Err((Code::MissingId, format!("action `{key}` needs an id; name its field with the option `id`")))
        }
        Some(_) | None => Ok(()),
    }
}

/// Checks what would spoil the whole request of a document with an external version.
fn check_versioned(has_id: bool, action: Action) -> Result<(), Refusal> {
    match action {
        Action::Index | Action::Delete if has_id => Ok(()),
        Action::Index | Action::Delete => Err((
            Code::MissingId,
            "a document with an external version needs an id; name its field with the option `id`".to_owned(),
        )),
        Action::Update | Action::Upsert => Err((
            Code::VersionOnUpdate,
            "servers refuse a bulk update with a version; use the action `index`".to_owned(),
        )),
        Action::Create => {
            let reason = "servers refuse the action `create` with an external version; use the action `index`";
            Err((Code::VersionOnCreate, reason.to_owned()))
        }
    }
}

/// The index name, with its placeholders replaced.
fn index_of(operations: &Operations, document: Shallow<'_>, meta: &DocMeta) -> Result<String, Refusal> {
    let mut name = String::new();
    for part in operations.index.parts() {
        match part {
            IndexPart::Text(text) => name.push_str(text),
            IndexPart::Field(path) => name.push_str(&required(document, meta, path, "part of the index name")?),
            IndexPart::Date(path, format) => {
                let date = required(document, meta, path, "date in the index name")?;
                let time = operations.shaping.timestamp.as_ref().filter(|time| *time == path);
                let date =
                    time.and_then(|_| Some(Moment::read(&date, DayOrder::Unknown)?.iso().into())).unwrap_or(date);
                if let Err(why) = format.push(&date, &mut name) {
                    // The source may have another form of it than the document.
                    let own = fields::scalar(document, path).ok().filter(|own| own.text != date);
                    let found = own.is_some_and(|own| format.push(&own.text, &mut name).is_ok());
                    if !found {
                        return Err(not_a_date(path, &date, why));
                    }
                }
            }
        }
    }
    check_index_name(&name).map_err(|e| (Code::BadIndexName, e))?;
    Ok(name)
}

#[cold]
fn not_a_date(path: &FieldPath, value: &str, why: NoMoment) -> Refusal {
    let shown: String = value.chars().take(64).collect();
    let wrong = match why {
        NoMoment::Other => "expected".to_owned(),
        NoMoment::Unlikely(what) => {
            format!("fields of type date read milliseconds, but it looks like {what}; expected")
        }
    };
    let reason = format!(
        "field `{path}` (the date in the index name) is {shown:?}; {wrong} a date as in 2026-01-31, a time as in \
         2026-01-31T10:00:00Z, or milliseconds since 1970; correct it in the source, or with option `sql`"
    );
    (Code::BadDate, reason)
}

/// The document, if its fields may be looked up.
#[inline]
pub(super) fn shallow(document: &[u8]) -> Result<Shallow<'_>, Refusal> {
    Shallow::new(document).ok_or_else(too_deep)
}

#[cold]
fn too_deep() -> Refusal {
    let reason =
        format!("the document has more than {DEPTH_MAX} nested objects and arrays, so its fields cannot be looked up");
    (Code::TooDeep, reason)
}

/// The text of the field at `path`, which has to exist.
fn required<'a>(
    document: Shallow<'a>,
    meta: &'a DocMeta,
    path: &FieldPath,
    what: &str,
) -> Result<Cow<'a, str>, Refusal> {
    if let Some(text) = meta.text_at(path) {
        return Ok(text.into());
    }
    fields::scalar(document, path).map(|s| s.text).map_err(|e| match e {
        NoScalar::Missing => (Code::MissingField, format!("field `{path}` (the {what}) is missing or null")),
        NoScalar::NotScalar(found) => (
            Code::BadField,
            format!("field `{path}` (the {what}) is {found}; expected a string, a number or a boolean"),
        ),
        NoScalar::InArray(array) => (
            Code::BadField,
            format!("field `{path}` (the {what}) is in objects of the array `{array}`; expected a single value"),
        ),
        NoScalar::Invalid(e) => (Code::InvalidJson, format!("the document is not JSON: {e}")),
    })
}

/// The external version in the field at `path`.
fn version_of(document: Shallow<'_>, meta: &DocMeta, path: &FieldPath) -> Result<u64, Refusal> {
    let text = required(document, meta, path, "version")?;
    text.parse::<u64>().ok().filter(|&v| v <= i64::MAX as u64).ok_or_else(|| {
        (
            Code::BadVersion,
            format!("field `{path}` (the version) is {text:?}; expected a whole number from 0 to 2^63 - 1"),
        )
    })
}
