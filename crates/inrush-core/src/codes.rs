//! Codes of errors: one stable name for each kind of error that ends a command, and for each reason
//! of a dead letter that is not the server's. A message may change, its code does not.
//!
//! The rows in `table.rs` are the only list. The page of errors, `inrush explain` and the tests
//! read them here.

mod table;

use std::fmt;
use std::io::ErrorKind;

pub use table::Code;

/// Makes the enum [`Code`] and its rows: variant, name, cause, and cure.
macro_rules! codes {
    ( $( $area:ident { $( $variant:ident $name:literal $cause:literal $cure:literal )* } )* ) => {
        /// Kind of an error. The name never changes, and a code that is no longer used is not used
        /// again.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(from = "String", into = "&'static str")]
        #[non_exhaustive]
        pub enum Code {
            $( $( #[doc = $cause] $variant, )* )*
        }

        impl Code {
            /// All codes, by area.
            pub const ALL: &[Code] = &[ $( $( Code::$variant, )* )* ];

            pub(super) const fn row(self) -> &'static Row {
                match self {
                    $( $( Code::$variant => &Row { name: $name, area: Area::$area, cause: $cause, cure: $cure }, )* )*
                }
            }
        }
    };
}
use codes;

/// What is known of a code.
struct Row {
    name: &'static str,
    area: Area,
    cause: &'static str,
    cure: &'static str,
}

/// Where an error comes from: a chapter of the page of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Area {
    /// The command line, a job file, or the arguments of a program.
    Options,
    /// The target cluster, or the cluster that is the source.
    Cluster,
    /// Files, databases, topics and other sources.
    Source,
    /// A load that has begun.
    Load,
    /// The end of a load.
    End,
    /// A local server, or the builder of a bake.
    Server,
    /// A document or record that this side gave up.
    DeadLetter,
    /// A document that the cluster refused. The names are those of Elasticsearch and OpenSearch.
    Refused,
}

impl Area {
    /// All areas, in the order of the page.
    pub const ALL: [Area; 8] = [
        Area::Options,
        Area::Cluster,
        Area::Source,
        Area::Load,
        Area::End,
        Area::Server,
        Area::DeadLetter,
        Area::Refused,
    ];

    /// The title of the chapter.
    pub const fn title(self) -> &'static str {
        match self {
            Area::Options => "Options",
            Area::Cluster => "Cluster",
            Area::Source => "Sources and files",
            Area::Load => "While a load runs",
            Area::End => "At the end",
            Area::Server => "Local servers and builders",
            Area::DeadLetter => "Dead letters of inrush itself",
            Area::Refused => "Documents that the cluster refuses",
        }
    }
}

impl Code {
    /// The name, in the style of the servers' types of errors.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Where the error comes from.
    #[doc(hidden)]
    pub const fn area(self) -> Area {
        self.row().area
    }

    /// What happened, in sentences.
    pub const fn cause(self) -> &'static str {
        self.row().cause
    }

    /// What to do, in sentences. Options are named as in errors of options.
    pub const fn cure(self) -> &'static str {
        self.row().cure
    }

    /// The code with this name.
    pub fn named(name: &str) -> Option<Code> {
        Code::ALL.iter().copied().find(|code| code.name() == name)
    }

    /// The code of a refusal with this HTTP status: credentials and rights have codes of their own.
    pub const fn of_status(status: u16, otherwise: Code) -> Code {
        match status {
            401 => Code::Unauthenticated,
            403 => Code::Forbidden,
            _ => otherwise,
        }
    }

    /// The code of a new index that the cluster refused with 400, by the type and the reason of the
    /// error: its name, its mapping and its settings may be wrong, or there is no room for it.
    pub fn of_new_index(kind: &str, reason: &str) -> Code {
        match kind {
            "invalid_index_name_exception" => Code::InvalidIndexName,
            "index_limit_exceeded_exception" => Code::TooManyShards,
            // Elasticsearch 7 has `illegal_argument_exception`.
            "validation_exception" | "illegal_argument_exception" if reason.contains("shards open") => {
                Code::TooManyShards
            }
            _ => Code::MappingRejected,
        }
    }

    /// The code of an error of the operating system about a file.
    pub fn of_io(error: &std::io::Error) -> Code {
        match error.kind() {
            ErrorKind::NotFound => Code::NoSuchFile,
            ErrorKind::PermissionDenied => Code::NoPermission,
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Code::DiskFull,
            _ => Code::FileFailed,
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl From<Code> for &'static str {
    fn from(code: Code) -> Self {
        code.name()
    }
}

impl From<String> for Code {
    /// A newer version may have written a code that this one does not know.
    fn from(name: String) -> Self {
        Code::named(&name).unwrap_or(Code::Failed)
    }
}

/// Why a load could not continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopReason {
    /// The kind.
    pub code: Code,
    /// What happened, and what to do.
    pub message: String,
}

impl StopReason {
    /// A failure of this kind.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        StopReason { code, message: message.into() }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_like_those_of_servers() {
        let mut seen = BTreeSet::new();
        for code in Code::ALL {
            let name = code.name();
            assert!(seen.insert(name), "{name} is there twice");
            assert!(
                name.len() <= 40 && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'),
                "{name}"
            );
            assert_eq!(Code::named(name), Some(*code));
        }
    }

    #[test]
    fn each_code_has_a_cause_and_a_cure_in_sentences() {
        for code in Code::ALL {
            for text in [code.cause(), code.cure()] {
                assert!(
                    text.ends_with('.') && text.starts_with(|c: char| c.is_uppercase() || c == '`'),
                    "{code}: {text}"
                );
            }
        }
        let mut areas: Vec<Area> = Code::ALL.iter().map(|code| code.area()).collect();
        areas.dedup();
        assert_eq!(areas, Area::ALL, "rows of an area are together");
    }

    #[test]
    fn codes_are_written_by_name_and_unknown_ones_are_read() {
        assert_eq!(serde_json::to_string(&Code::Unreachable).unwrap(), "\"unreachable\"");
        assert_eq!(serde_json::from_str::<Code>("\"unreachable\"").unwrap(), Code::Unreachable);
        assert_eq!(serde_json::from_str::<Code>("\"of_a_later_version\"").unwrap(), Code::Failed);
    }

    #[test]
    fn errors_of_files_have_codes_by_kind() {
        use ErrorKind::{NotFound, PermissionDenied, StorageFull, TimedOut};
        let codes = [NotFound, PermissionDenied, StorageFull, TimedOut].map(|kind| Code::of_io(&kind.into()));
        assert_eq!(codes, [Code::NoSuchFile, Code::NoPermission, Code::DiskFull, Code::FileFailed]);
    }
}
