//! Fields with a name and a type.

use inrush_core::Code;
use std::sync::Arc;

use inrush_core::zone::Zone;

use crate::csv::{ColumnType, CsvOptions, push_in_zone, push_value};
use crate::json_string::push_escaped;
use crate::lines::NoDocument;

/// A field of a document.
pub(super) struct Field {
    name: String,
    /// `"name":`
    prefix: Vec<u8>,
    column_type: ColumnType,
    /// The zone of times that name none, if it is a timestamp.
    zone: Option<Zone>,
    /// The name, if the original text of the value is kept.
    kept: Option<Arc<str>>,
}

impl Field {
    /// Appends the field and a comma, or nothing if `value` is empty. A value that is kept is also
    /// added to `texts`.
    pub(super) fn push(
        &self,
        value: &str,
        out: &mut Vec<u8>,
        texts: &mut Vec<(Arc<str>, String)>,
    ) -> Result<(), NoDocument> {
        if value.is_empty() {
            return Ok(());
        }
        out.extend_from_slice(&self.prefix);
        let pushed = match &self.zone {
            Some(zone) => push_in_zone(out, self.column_type, zone, value.as_bytes()),
            None => push_value(out, self.column_type, true, value.as_bytes()),
        };
        if !pushed {
            let (name, column_type) = (&self.name, self.column_type);
            let shown: String = value.chars().take(100).collect();
            let reason = format!(
                "field {name:?} holds {shown:?}, expected {column_type}; correct the value or the type in option `schema`"
            );
            return Err(NoDocument { kind: Code::BadValue, reason });
        }
        out.push(b',');
        if let Some(name) = &self.kept {
            texts.push((Arc::clone(name), value.to_owned()));
        }
        Ok(())
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn keeps_text(&self) -> bool {
        self.kept.is_some()
    }

    pub(super) fn prefix_len(&self) -> usize {
        self.prefix.len()
    }
}

/// Fields with these names and the types of the schema of `options`. Other fields are strings. The
/// text of the fields in `texts` is kept if their type may write it differently.
pub(super) fn fields(names: &[&str], options: &CsvOptions, texts: &[String]) -> Result<Vec<Field>, String> {
    let schema = &options.schema;
    if let Some((missing, _)) = schema.iter().find(|(name, _)| !names.contains(&name.as_str())) {
        return Err(format!(
            "the schema names field {missing:?}, which does not exist; fields are {}",
            names.join(", ")
        ));
    }
    let field = |name: &&str| {
        let mut prefix = vec![b'"'];
        push_escaped(&mut prefix, name.as_bytes());
        prefix.extend_from_slice(b"\":");
        let declared = schema.iter().rev().find(|(column, _)| column == name);
        let column_type = declared.map_or(ColumnType::String, |(_, column_type)| *column_type);
        let kept = column_type.writes_otherwise() && texts.iter().any(|field| field == name);
        let zone = options.time_zone.filter(|_| column_type.is_timestamp());
        Field { name: (*name).to_owned(), prefix, column_type, zone, kept: kept.then(|| Arc::from(*name)) }
    };
    Ok(names.iter().map(field).collect())
}

/// Ends an object whose members are each followed by a comma.
pub(super) fn close(out: &mut Vec<u8>) {
    match out.last_mut() {
        Some(last @ b',') => *last = b'}',
        _ => out.push(b'}'),
    }
}
