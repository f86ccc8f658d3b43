//! Types of options' values other than numbers and words.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use inrush_core::rate::Rate;
use inrush_core::tune::Learned;
use inrush_core::zone::Zone;
use inrush_core::{Coalesce, Compression, Encoding, FieldPath, IndexTemplate, MaxErrors, Rename};
use serde_json::Value;

use super::choice::OrAuto;
use super::info::{PathKind, ValueInfo};
use super::slot::{Argument, Given, IntoOption, OptionValue, argument, name_of};
use super::units::{ByteSize, COUNT_OR_SHARE, Count, count_or_percent};
use inrush_cluster::transport::Secret;
use inrush_kafka::{Start, Until, VersionFrom, With};
use inrush_load::config::Tolerance;
use inrush_page::{OtlpEndpoint, PageAddress};
use inrush_sources::{Charset, ColumnType, FixedColumn, NamePattern, RecordsPath};

/// Types that are parsed by their `FromStr`.
macro_rules! from_str {
    ($($type:ty as $argument:ident: $value:expr;)*) => {
        $(
            impl OptionValue for $type {
                argument! { $argument }

                const VALUE: ValueInfo = $value;

                fn parse(text: &str) -> Result<Self, String> {
                    text.parse()
                }
            }
        )*
    };
}

from_str! {
    FieldPath as itself: ValueInfo::TEXT;
    Rename as text: ValueInfo::TEXT;
    Zone as text: ValueInfo::TEXT;
    IndexTemplate as itself: ValueInfo::TEXT;
    RecordsPath as text: ValueInfo::TEXT;
    FixedColumn as text: ValueInfo::TEXT;
    NamePattern as text: ValueInfo::TEXT;
    Charset as text: ValueInfo::TEXT;
    Coalesce as itself: ValueInfo::TEXT;
    Start as text: ValueInfo::TEXT;
    With as text: ValueInfo::TEXT;
    Until as text: ValueInfo::TEXT;
    VersionFrom as text: ValueInfo::TEXT;
}

impl OptionValue for String {
    argument! { itself }

    const VALUE: ValueInfo = ValueInfo::TEXT;

    fn parse(text: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }
}

crate::setter_values! { FieldPath, IndexTemplate, Coalesce, Rate, MaxErrors, Tolerance, Compression, Encoding, Secret, Body, EarlierLoad }

impl OptionValue for PathBuf {
    argument! { itself }

    const VALUE: ValueInfo = ValueInfo::path(PathKind::File);

    fn parse(text: &str) -> Result<Self, String> {
        Ok(text.into())
    }

    fn read(given: Given) -> Result<Self, String> {
        os_string(given).map(PathBuf::from)
    }

    fn relative_to(self, folder: &Path) -> Self {
        resolve(self.into_os_string(), folder).into()
    }
}

/// An address, or `true` for a free port of this machine.
impl OptionValue for PageAddress {
    argument! { text }

    const VALUE: ValueInfo = ValueInfo::TEXT.in_python("bool | int | str");

    fn parse(text: &str) -> Result<Self, String> {
        text.parse()
    }

    fn read(given: Given) -> Result<Self, String> {
        match given {
            Given::Value(Value::Bool(true)) => Ok(PageAddress::FREE),
            Given::Value(Value::Bool(false)) => Err("expected true or an address; leave it out for no page".to_owned()),
            given => {
                let text = String::read(given)?;
                text.parse().map_err(|problem| format!("invalid value '{text}': {problem}"))
            }
        }
    }
}

/// An address of a collector, or `true` for that of the environment variables.
impl OptionValue for OtlpEndpoint {
    argument! { text }

    const VALUE: ValueInfo = ValueInfo::TEXT.in_python("bool | str");

    fn parse(text: &str) -> Result<Self, String> {
        text.parse()
    }

    fn read(given: Given) -> Result<Self, String> {
        match given {
            Given::Value(Value::Bool(true)) => Ok(OtlpEndpoint::AUTO),
            Given::Value(Value::Bool(false)) => {
                Err("expected true or an address; leave it out to send nothing".to_owned())
            }
            given => {
                let text = String::read(given)?;
                text.parse().map_err(|problem| format!("invalid value '{text}': {problem}"))
            }
        }
    }
}

/// A path to a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder(pub PathBuf);

impl OptionValue for Folder {
    argument! { path }

    const VALUE: ValueInfo = ValueInfo::path(PathKind::Folder);

    fn parse(text: &str) -> Result<Self, String> {
        Ok(Folder(text.into()))
    }

    fn read(given: Given) -> Result<Self, String> {
        PathBuf::read(given).map(Folder)
    }

    fn relative_to(self, folder: &Path) -> Self {
        Folder(self.0.relative_to(folder))
    }
}

/// A file, a folder, a glob pattern, `-` for stdin, or an address.
impl OptionValue for OsString {
    argument! { itself }

    const VALUE: ValueInfo = ValueInfo::path(PathKind::File);

    fn parse(text: &str) -> Result<Self, String> {
        Ok(text.into())
    }

    fn read(given: Given) -> Result<Self, String> {
        os_string(given)
    }

    fn relative_to(self, folder: &Path) -> Self {
        resolve(self, folder)
    }
}

fn os_string(given: Given) -> Result<OsString, String> {
    match given {
        Given::Text(text) => Ok(text),
        value => String::read(value).map(OsString::from),
    }
}

/// Paths are relative to the folder, except stdin, addresses and absolute paths.
fn resolve(path: OsString, folder: &Path) -> OsString {
    let text = path.to_string_lossy();
    if text == "-" || text.contains("://") || Path::new(&path).is_absolute() {
        return path;
    }
    // The folder's own name is not a pattern, also where it has characters of one.
    if text.contains(['*', '?', '[']) {
        let mut escaped = String::new();
        for c in folder.to_string_lossy().chars() {
            match c {
                '*' | '?' | '[' | ']' => escaped.extend(['[', c, ']']),
                c => escaped.push(c),
            }
        }
        return Path::new(&escaped).join(&path).into();
    }
    folder.join(&path).into()
}

/// The body of a mapping or of settings: a JSON file that holds it, or the body itself.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// A file.
    File(PathBuf),
    /// The body.
    Inline(Value),
}

impl OptionValue for Body {
    type Argument = Self;

    fn from_argument(body: Self) -> Result<Self, String> {
        match body {
            Body::Inline(value) => Body::read(Given::Value(value)),
            file @ Body::File(_) => Ok(file),
        }
    }

    const VALUE: ValueInfo = ValueInfo::path(PathKind::File).in_python("str | os.PathLike[str] | Mapping[str, Any]");

    fn parse(text: &str) -> Result<Self, String> {
        Ok(Body::File(text.into()))
    }

    fn read(given: Given) -> Result<Self, String> {
        match given {
            Given::Value(value @ Value::Object(_)) => Ok(Body::Inline(value)),
            Given::Value(other) if !other.is_string() => {
                Err(format!("expected a table or the name of a file, found {}", name_of(&other)))
            }
            given => PathBuf::read(given).map(Body::File),
        }
    }

    fn relative_to(self, folder: &Path) -> Self {
        match self {
            Body::File(path) => Body::File(path.relative_to(folder)),
            inline @ Body::Inline(_) => inline,
        }
    }
}

impl IntoOption<Body> for Value {
    fn into_option(self) -> Argument<Body> {
        Argument::Value(Body::Inline(self))
    }
}

impl IntoOption<Body> for PathBuf {
    fn into_option(self) -> Argument<Body> {
        Argument::Value(Body::File(self))
    }
}

impl IntoOption<Body> for &Path {
    fn into_option(self) -> Argument<Body> {
        Argument::Value(Body::File(self.to_owned()))
    }
}

/// The mapping and settings of new indices whose name matches a pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct PatternEntry {
    /// A name in which `*` stands for any text.
    pub pattern: String,
    /// The body of `mappings`.
    pub mapping: Option<Body>,
    /// The body of `settings`.
    pub settings: Option<Body>,
    /// `number_of_shards`.
    pub shards: Option<u32>,
    /// `number_of_replicas`.
    pub replicas: Option<u32>,
}

/// An entry as in the job file.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenPattern {
    pattern: String,
    mapping: Option<Value>,
    settings: Option<Value>,
    shards: Option<u32>,
    replicas: Option<u32>,
}

impl OptionValue for PatternEntry {
    argument! { json }

    const VALUE: ValueInfo = ValueInfo::TEXT.in_python("Mapping[str, Any]");

    fn parse(_: &str) -> Result<Self, String> {
        Err("expected tables, written as [[indices]]".to_owned())
    }

    fn read(given: Given) -> Result<Self, String> {
        let Given::Value(value @ Value::Object(_)) = given else { return Self::parse("") };
        let written: WrittenPattern = serde_json::from_value(value).map_err(|error| error.to_string())?;
        let within = |problem: String| format!("pattern {:?}: {problem}", written.pattern);
        if written.shards == Some(0) {
            return Err(within("shards must be at least 1".to_owned()));
        }
        let body = |name: &str, value: Option<Value>| {
            value
                .map(|value| Body::read(value.into()))
                .transpose()
                .map_err(|problem| within(format!("{name}: {problem}")))
        };
        Ok(PatternEntry {
            mapping: body("mapping", written.mapping)?,
            settings: body("settings", written.settings)?,
            shards: written.shards,
            replicas: written.replicas,
            pattern: written.pattern,
        })
    }

    fn relative_to(self, folder: &Path) -> Self {
        let body = |body: Option<Body>| body.map(|body| body.relative_to(folder));
        PatternEntry { mapping: body(self.mapping), settings: body(self.settings), ..self }
    }
}

/// A search query: JSON, or `@FILE`.
#[derive(Clone, Debug, PartialEq)]
pub enum SearchQuery {
    /// JSON as text, or `@` and the file that holds it.
    Text(String),
    /// JSON.
    Json(Value),
}

impl OptionValue for SearchQuery {
    argument! { json }

    const VALUE: ValueInfo = ValueInfo::TEXT.in_python("str | Mapping[str, Any]");

    fn parse(text: &str) -> Result<Self, String> {
        Ok(SearchQuery::Text(text.to_owned()))
    }

    fn read(given: Given) -> Result<Self, String> {
        match given {
            Given::Value(value @ Value::Object(_)) => Ok(SearchQuery::Json(value)),
            given => String::read(given).map(SearchQuery::Text),
        }
    }
}

/// A pair of texts, written as `NAME=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The part before the first `=`.
    pub name: String,
    /// The part after it.
    pub value: String,
}

impl OptionValue for Pair {
    argument! { text }

    const VALUE: ValueInfo = ValueInfo::TEXT;

    fn parse(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, value)) if !name.is_empty() => Ok(Pair { name: name.to_owned(), value: value.to_owned() }),
            _ => Err("expected a name and a value, as in s3.client.default.region=eu-west-1".to_owned()),
        }
    }
}

/// A table of a query: its name and its files, written as `NAME=PATH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedTable {
    /// The name of the table.
    pub name: String,
    /// A file, folder or glob pattern.
    pub path: PathBuf,
}

impl OptionValue for NamedTable {
    argument! { text }

    const VALUE: ValueInfo = ValueInfo::path(PathKind::File).in_python("str");

    fn parse(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, path)) if !name.is_empty() && !path.is_empty() => {
                Ok(NamedTable { name: name.to_owned(), path: path.into() })
            }
            _ => Err("expected a name and a path, as in artists=artists.csv".to_owned()),
        }
    }

    fn relative_to(self, folder: &Path) -> Self {
        NamedTable { path: self.path.relative_to(folder), ..self }
    }
}

/// Vectors beside documents: the field that gets them and their files, written as `FIELD=PATH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VectorsOf {
    /// The name of the field.
    pub field: String,
    /// A file, folder or glob pattern.
    pub path: PathBuf,
}

impl OptionValue for VectorsOf {
    argument! { text }

    const VALUE: ValueInfo = ValueInfo::path(PathKind::File).in_python("str");

    fn parse(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((_, "-")) => Err("vectors are not read from stdin; write them to a file first".to_owned()),
            Some((_, path)) if path.contains("://") => {
                Err("vectors are read from local files; download them first".to_owned())
            }
            Some((field, path)) if !field.is_empty() && !path.is_empty() => {
                Ok(VectorsOf { field: field.to_owned(), path: path.into() })
            }
            _ => Err("expected a field and a path, as in embedding=embeddings.npy".to_owned()),
        }
    }

    fn relative_to(self, folder: &Path) -> Self {
        VectorsOf { path: self.path.relative_to(folder), ..self }
    }
}

/// The type of a column, written as `COLUMN:TYPE`. The name of a column may contain a colon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnSchema {
    /// The name of the column.
    pub name: String,
    /// Its type.
    pub column_type: ColumnType,
}

impl OptionValue for ColumnSchema {
    argument! { text }

    const VALUE: ValueInfo = ValueInfo::TEXT;

    fn parse(text: &str) -> Result<Self, String> {
        let (name, column_type) =
            text.rsplit_once(':').ok_or_else(|| "it has no type; write it like price:float".to_owned())?;
        Ok(ColumnSchema { name: name.to_owned(), column_type: column_type.parse()? })
    }
}

/// The separator of cells: one ASCII character, or `tab`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Separator(pub u8);

/// The quote around cells: one ASCII character, or `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote(pub Option<u8>);

/// The escape character: one ASCII character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Escape(pub u8);

/// The character before the fraction of a number: a comma or a dot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    /// Whether it is a comma.
    pub is_comma: bool,
}

impl OptionValue for Decimal {
    argument! { text }

    const VALUE: ValueInfo = ValueInfo::TEXT.within("a comma or a dot");

    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "," => Ok(Decimal { is_comma: true }),
            "." => Ok(Decimal { is_comma: false }),
            _ => Err("expected a comma or a dot".to_owned()),
        }
    }
}

/// The character that begins lines which are left out: one ASCII character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comment(pub u8);

impl OptionValue for Separator {
    argument! { text }

    const VALUE: ValueInfo = ValueInfo::TEXT;

    fn parse(text: &str) -> Result<Self, String> {
        if text == "tab" { Ok(Separator(b'\t')) } else { character(text, "tab").map(Separator) }
    }
}

impl OptionValue for Quote {
    argument! { text }

    const VALUE: ValueInfo = ValueInfo::TEXT;

    fn parse(text: &str) -> Result<Self, String> {
        if text == "none" { Ok(Quote(None)) } else { character(text, "none").map(|quote| Quote(Some(quote))) }
    }
}

impl OptionValue for Escape {
    argument! { text }

    const VALUE: ValueInfo = ValueInfo::TEXT;

    fn parse(text: &str) -> Result<Self, String> {
        character(text, "\\").map(Escape)
    }
}

impl OptionValue for Comment {
    argument! { text }

    const VALUE: ValueInfo = ValueInfo::TEXT;

    fn parse(text: &str) -> Result<Self, String> {
        character(text, "#").map(Comment)
    }
}

fn character(text: &str, word: &str) -> Result<u8, String> {
    let text = if text == "\\t" { "\t" } else { text };
    match text.as_bytes() {
        [byte] if byte.is_ascii() && !matches!(byte, b'\r' | b'\n') => Ok(*byte),
        _ => Err(format!("expected one ASCII character, or `{word}`")),
    }
}

/// What an earlier load learned, or `None` for nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EarlierLoad(pub Option<Learned>);

impl EarlierLoad {
    fn of(value: Value) -> Result<Self, String> {
        let what = "expected `none`, or the object plan.learned of a report";
        let learned: Learned = serde_json::from_value(value).map_err(|problem| format!("{problem}; {what}"))?;
        match learned.is_sound() {
            true => Ok(EarlierLoad(Some(learned))),
            false => Err(format!("its numbers are impossible; {what}")),
        }
    }
}

impl OptionValue for EarlierLoad {
    argument! { itself }

    const VALUE: ValueInfo = ValueInfo::TEXT.in_python("str | Mapping[str, Any]");

    fn parse(text: &str) -> Result<Self, String> {
        match text.trim() {
            "none" => Ok(EarlierLoad(None)),
            text => EarlierLoad::of(serde_json::from_str(text).map_err(|problem| problem.to_string())?),
        }
    }

    fn read(given: Given) -> Result<Self, String> {
        match given {
            Given::Value(value @ Value::Object(_)) => EarlierLoad::of(value),
            given => EarlierLoad::parse(&String::read(given)?),
        }
    }
}

impl OptionValue for Rate {
    argument! { itself }

    const VALUE: ValueInfo = ValueInfo::TEXT
        .in_unit("bytes a second, as in 20MiB, or documents, as in 5000docs")
        .within("at least 1")
        .in_python("str | int");

    fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim().trim_end_matches("/s").trim_end();
        let docs = text.strip_suffix("docs").or_else(|| text.strip_suffix("doc"));
        let rate = match docs {
            Some(number) => number.trim().replace(['_', ','], "").parse().ok().map(Rate::Docs),
            None => ByteSize::parse(text).ok().map(|size| Rate::Bytes(size.bytes())),
        };
        rate.filter(|rate| *rate != Rate::Docs(0))
            .ok_or_else(|| "expected bytes such as 20MiB or documents such as 5000docs".to_owned())
    }
}

impl OptionValue for MaxErrors {
    argument! { itself }

    const VALUE: ValueInfo = COUNT_OR_SHARE;

    fn parse(text: &str) -> Result<Self, String> {
        count_or_percent(text).map(|found| found.map_or_else(MaxErrors::Count, MaxErrors::Percent))
    }
}

impl OptionValue for Tolerance {
    argument! { itself }

    const VALUE: ValueInfo = COUNT_OR_SHARE;

    fn parse(text: &str) -> Result<Self, String> {
        count_or_percent(text).map(|found| found.map_or_else(Tolerance::Count, Tolerance::Percent))
    }
}

impl OptionValue for OrAuto<Compression> {
    type Argument = Compression;

    fn from_argument(compression: Compression) -> Result<Self, String> {
        Ok(OrAuto::This(compression))
    }

    const VALUE: ValueInfo = ValueInfo::TEXT.within("auto, none, gzip, or gzip:LEVEL with a level from 1 to 12");

    fn parse(text: &str) -> Result<Self, String> {
        if text == "auto" { Ok(OrAuto::Auto) } else { text.parse().map(OrAuto::This) }
    }
}

impl OptionValue for OrAuto<Count> {
    type Argument = u32;

    fn from_argument(number: u32) -> Result<Self, String> {
        Count::from_argument(number).map(OrAuto::This)
    }

    const VALUE: ValueInfo = ValueInfo::TEXT.within("at least 1, or auto").in_python("int | str");

    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(OrAuto::Auto),
            text => Count::parse(text)
                .map(OrAuto::This)
                .map_err(|_| "expected a whole number from 1 on, or auto".to_owned()),
        }
    }
}

/// A secret that a program holds.
impl OptionValue for Secret {
    argument! { itself }

    const VALUE: ValueInfo = ValueInfo::TEXT;

    fn parse(text: &str) -> Result<Self, String> {
        Ok(Secret::new(text))
    }

    fn read(given: Given) -> Result<Self, String> {
        // The value must not be in an error.
        match given {
            Given::Value(Value::String(text)) => Ok(Secret::new(text)),
            Given::Text(text) => text.into_string().map(Secret::new).map_err(|_| "the secret is not UTF-8".to_owned()),
            Given::Value(_) | Given::List(_) => Err("expected a string".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rates_are_bytes_or_documents() {
        let parse = <Rate as OptionValue>::parse;
        assert_eq!(parse("20MiB"), Ok(Rate::Bytes(20 << 20)));
        assert_eq!(parse("20MiB/s"), Ok(Rate::Bytes(20 << 20)));
        assert_eq!(parse("5000docs"), Ok(Rate::Docs(5000)));
        assert_eq!(parse("1 docs/s"), Ok(Rate::Docs(1)));
        for bad in ["0", "0docs", "docs", "fast", "-1docs", ""] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn separators_are_one_character() {
        assert_eq!(Separator::parse(";"), Ok(Separator(b';')));
        assert_eq!(Separator::parse("tab"), Ok(Separator(b'\t')));
        assert_eq!(Separator::parse("\\t"), Ok(Separator(b'\t')));
        assert_eq!(Quote::parse("'"), Ok(Quote(Some(b'\''))));
        assert_eq!(Quote::parse("none"), Ok(Quote(None)));
        assert_eq!(Escape::parse("\\"), Ok(Escape(b'\\')));
        assert_eq!(Comment::parse("#"), Ok(Comment(b'#')));
        assert!(Comment::parse("//").is_err());
        for bad in ["", ";;", "é", "\n"] {
            assert!(Separator::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn vectors_are_local_files() {
        let of = |path: &str| VectorsOf { field: "v".to_owned(), path: path.into() };
        assert_eq!(VectorsOf::parse("v=a=b.npy"), Ok(of("a=b.npy")));
        assert!(VectorsOf::parse("v=-").unwrap_err().contains("not read from stdin"));
        for address in ["s3://b/v.npy", "https://h/v.npy", "file:///v.npy"] {
            let error = VectorsOf::parse(&format!("v={address}")).unwrap_err();
            assert!(error.contains("read from local files; download them first"), "{error}");
        }
        for bad in ["v", "v=", "=a.npy"] {
            assert!(VectorsOf::parse(bad).unwrap_err().contains("expected a field and a path"), "{bad}");
        }
    }

    #[test]
    fn a_folder_with_brackets_is_no_pattern() {
        let resolve = |path: &str, folder: &str| resolve(path.into(), Path::new(folder));
        assert_eq!(resolve("*.csv", "[a]"), "[[]a[]]/*.csv");
        assert_eq!(resolve("x.csv", "[a]"), "[a]/x.csv");
        assert_eq!(resolve("https://h/*", "a"), "https://h/*");
        assert_eq!((resolve("-", "a"), resolve("/b", "a")), ("-".into(), "/b".into()));
    }

    #[test]
    fn secrets_are_in_no_error() {
        let error = Secret::read(json!(12345).into()).unwrap_err();
        assert!(!error.contains("12345"), "{error}");
        assert!(!format!("{:?}", Secret::read("hunter2".into())).contains("hunter2"));
    }

    #[test]
    fn what_an_earlier_load_learned_is_read_as_its_report_has_it() {
        let learned = serde_json::json!({
            "plan": {"batch_bytes": 4096, "batch_docs": 7, "in_flight": 3}, "bytes_per_second": 1e6,
            "wall_seconds": 0.5, "doc_bytes": 10.0, "rejected": 0.0, "unloaded": null, "seconds": 9.0,
        });
        let read = |value: Value| EarlierLoad::read(Given::Value(value));
        let of_object = read(learned.clone()).unwrap();
        assert_eq!(of_object.0.map(|learned| learned.plan.in_flight), Some(3));
        assert_eq!(EarlierLoad::parse(&learned.to_string()), Ok(of_object));
        assert_eq!(read("none".into()), Ok(EarlierLoad(None)));
        let mut impossible = learned;
        impossible["wall_seconds"] = (-1).into();
        assert!(read(impossible).unwrap_err().contains("impossible"));
        assert!(read(serde_json::json!({})).unwrap_err().contains("plan.learned of a report"));
    }

    #[test]
    fn a_body_is_a_file_or_itself() {
        assert_eq!(Body::read("m.json".into()), Ok(Body::File("m.json".into())));
        assert_eq!(Body::read(json!({"a": 1}).into()), Ok(Body::Inline(json!({"a": 1}))));
        assert!(Body::read(json!(1).into()).unwrap_err().contains("a table or the name of a file"));
    }
}
