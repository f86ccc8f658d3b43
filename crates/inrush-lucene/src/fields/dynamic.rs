//! New fields: which field a server makes of a value that its mapping does not have.
//!
//! Source: the documentation of dynamic mapping in OpenSearch and Elasticsearch.

use serde_json::{Map, Value, json};

use crate::fields::dates::{Dialect, Formats, SLASHES};
use crate::fields::json::Scalar;
use crate::fields::new_field::{NewField, Section};
use crate::fields::object::Dynamic;
use crate::fields::refused::Refused;
use crate::fields::target::{KnownProduct, ServerVersion};
use crate::fields::templates::{Made, Templates};
use crate::fields::values;

/// The longest text of which a new field keeps a term.
const IGNORE_ABOVE: u32 = 256;

/// What a mapping says of new fields.
#[derive(Debug, Clone)]
pub(crate) struct Detection {
    /// The formats of texts that become dates, each with its name unless it is the default.
    dates: Vec<(Option<String>, Formats)>,
    /// Whether texts become numbers.
    numbers: bool,
    templates: Templates,
    pub(super) product: KnownProduct,
    /// Whether the first value of a document makes a new field, and the others have to fit it.
    pub(super) first_decides: bool,
    /// Why no new field can be made here.
    unsupported: Option<String>,
}

impl Detection {
    /// Takes the parameters out of a mapping.
    pub(crate) fn take(definition: &mut Map<String, Value>, target: ServerVersion) -> Self {
        let product = target.product;
        let templates = Templates::default();
        let first_decides = target.reads_as_9_4();
        let mut detection =
            Self { dates: Vec::new(), numbers: false, templates, product, first_decides, unsupported: None };
        let mut taken = |parameter: &str| definition.remove(parameter);
        let is = |value: &Value| *value == true || *value == "true";
        detection.numbers = taken("numeric_detection").as_ref().is_some_and(is);
        let has_dates = taken("date_detection").as_ref().is_none_or(is);
        let formats = taken("dynamic_date_formats");
        if has_dates && let Err(format) = detection.read_formats(formats.as_ref(), Dialect::of(target)) {
            detection.unsupported = Some(format!("the parameter \"dynamic_date_formats\" with {format}"));
        }
        detection.templates =
            taken("dynamic_templates").map(|found| Templates::read(&found, product)).unwrap_or_default();
        detection
    }

    /// Reads the formats of dates; the first one that is not known here is an error.
    fn read_formats(&mut self, formats: Option<&Value>, dialect: Dialect) -> Result<(), Value> {
        let Some(formats) = formats else {
            self.dates = vec![(None, Formats::millis_of(dialect))];
            self.dates.extend(Formats::parse(SLASHES, dialect).map(|formats| (Some(SLASHES.to_owned()), formats)));
            return Ok(());
        };
        for format in formats.as_array().ok_or_else(|| formats.clone())? {
            let name = format.as_str().ok_or_else(|| format.clone())?;
            let parsed = Formats::parse(name, dialect).ok_or_else(|| format.clone())?;
            self.dates.push((Some(name.to_owned()), parsed));
        }
        Ok(())
    }

    /// The field that a server makes of a value, in an object that says `dynamic` of new fields;
    /// none of null.
    pub(super) fn field(&self, path: &str, value: &Scalar, dynamic: Dynamic) -> Result<Option<NewField>, Refused> {
        let kind = match value {
            Scalar::Null => return Ok(None),
            Scalar::Bool(_) => NewKind::Boolean,
            Scalar::Number(number) if number.contains(['.', 'e', 'E']) => NewKind::Float,
            Scalar::Number(_) => NewKind::Long,
            Scalar::Text(text) => self.kind_of_text(path, text)?,
        };
        if let Some(why) = &self.unsupported {
            return Err(Refused::Unsupported(format!("the new field {path:?} of a mapping with {why}")));
        }
        self.made(path, kind, dynamic).map(Some)
    }

    /// Checks that the template for objects, which is asked for each array first, does not make a
    /// field of the whole array.
    pub(super) fn check_array(&self, path: &str) -> Result<(), Refused> {
        self.templates.check_array(path).map_err(|name| by_unsupported(path, name))
    }

    /// What a server makes of an object where new fields are indexed.
    pub(super) fn object(&self, path: &str) -> Result<NewField, Refused> {
        self.made(path, NewKind::Object, Dynamic::Add)
    }

    /// The member by the first template for it, if there is one; else by its kind.
    fn made(&self, path: &str, kind: NewKind, dynamic: Dynamic) -> Result<NewField, Refused> {
        let found = self.templates.find(path, kind.of_templates()).map_err(|name| by_unsupported(path, name))?;
        let by_template = found.is_some();
        let (section, definition) = match found {
            None if dynamic == Dynamic::Runtime => (Section::Runtime, self.definition_in_runtime(kind)),
            None => (Section::Properties, self.definition(kind)),
            Some(Made { definition, is_runtime: true, .. }) => (Section::Runtime, definition),
            Some(Made { definition, template, .. }) => {
                let made = self.with_format(definition, kind).ok_or_else(|| by_unsupported(path, template))?;
                (Section::Properties, made)
            }
        };
        Ok(NewField { path: path.to_owned(), section, definition, by_template })
    }

    /// The definition of a template with the format of the date that it is made for. `None` where
    /// the products differ: where it says itself how the date is written, or has other dates.
    fn with_format(&self, mut definition: Value, kind: NewKind) -> Option<Value> {
        let NewKind::Date(place) = kind else { return Some(definition) };
        let (Value::Object(made), Value::Object(own)) = (&mut definition, self.definition(kind)) else { return None };
        let is_written = ["format", "print_format", "locale"].iter().any(|parameter| made.contains_key(*parameter));
        let is_default = self.dates.get(place).is_none_or(|(name, _)| name.is_none());
        match made["type"].as_str()? {
            _ if has_dates(made.get("fields")) => None,
            "date" if !is_written => {
                made.extend(own);
                Some(definition)
            }
            "date" | "date_nanos" => (is_default && made.contains_key("format")).then_some(definition),
            _ => Some(definition),
        }
    }

    fn definition_in_runtime(&self, kind: NewKind) -> Value {
        match kind {
            NewKind::Float => json!({ "type": "double" }),
            NewKind::Text => json!({ "type": "keyword" }),
            NewKind::Date(place) => match self.dates.get(place) {
                Some((Some(format), _)) => json!({ "type": "date", "format": format }),
                Some((None, _)) | None => json!({ "type": "date" }),
            },
            NewKind::Long | NewKind::Boolean | NewKind::Object => self.definition(kind),
        }
    }

    fn definition(&self, kind: NewKind) -> Value {
        match kind {
            NewKind::Object => json!({ "type": "object" }),
            NewKind::Long => json!({ "type": "long" }),
            NewKind::Float => json!({ "type": "float" }),
            NewKind::Boolean => json!({ "type": "boolean" }),
            NewKind::Text => json!({
                "type": "text", "fields": { "keyword": { "type": "keyword", "ignore_above": IGNORE_ABOVE } }
            }),
            NewKind::Date(place) => match (self.dates.get(place), self.product) {
                (Some((Some(format), _)), KnownProduct::OpenSearch) => {
                    let print_format = format.split("||").next();
                    json!({ "type": "date", "format": format, "print_format": print_format })
                }
                (Some((Some(format), _)), KnownProduct::Elasticsearch) if format == SLASHES => {
                    json!({ "type": "date", "format": format, "locale": "" })
                }
                (Some((Some(format), _)), KnownProduct::Elasticsearch) => json!({ "type": "date", "format": format }),
                (Some((None, _)) | None, _) => json!({ "type": "date" }),
            },
        }
    }

    fn kind_of_text(&self, path: &str, text: &str) -> Result<NewKind, Refused> {
        let is_whole = values::is_java_long(text);
        let is_number = is_whole || values::is_java_double(text);
        match (is_number, self.numbers) {
            (true, true) if is_whole => return Ok(NewKind::Long),
            (true, true) => return Ok(NewKind::Float),
            (true, false) => return Ok(NewKind::Text),
            (false, _) => {}
        }
        for (place, (_, formats)) in self.dates.iter().enumerate() {
            if formats.moment(text).is_some() {
                return Ok(NewKind::Date(place));
            }
            // OpenSearch takes the field for a date before it sees that there is none such.
            if self.product == KnownProduct::OpenSearch && formats.fits_no_date(text) {
                let (type_name, expected) = ("date".to_owned(), "a date of its formats");
                return Err(Refused::Value { field: path.to_owned(), type_name, expected });
            }
            if let Some(what) = formats.only_of_a_server(text) {
                return Err(Refused::Unsupported(format!("{what} in a new field")));
            }
        }
        Ok(NewKind::Text)
    }
}

/// Whether one of the multi-fields is a date.
fn has_dates(fields: Option<&Value>) -> bool {
    let mut fields = fields.and_then(Value::as_object).into_iter().flatten();
    fields.any(|(_, field)| field["type"].as_str().is_some_and(|kind| kind.starts_with("date")))
}

fn by_unsupported(path: &str, template: &str) -> Refused {
    Refused::Unsupported(format!("the new field {path:?} of a mapping with the template {template:?}"))
}

/// What a value would be without templates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NewKind {
    Object,
    Long,
    Float,
    Boolean,
    /// Of a format of [`Detection`].
    Date(usize),
    Text,
}

impl NewKind {
    /// What templates call it.
    fn of_templates(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Long => "long",
            Self::Float => "double",
            Self::Boolean => "boolean",
            Self::Date(_) => "date",
            Self::Text => "string",
        }
    }
}
