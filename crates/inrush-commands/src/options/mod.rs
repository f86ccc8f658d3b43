//! One description of a load.
//!
//! Each option of a load is defined once, in [`groups`](self): its name, its type, its default, its
//! limits, the servers' name for it, and its documentation. The command line, the job file, the
//! Python package, the builder of a Rust program and the reference page (`docs/options.md`) are
//! made of these definitions. [`LoadOptions::resolve`] is the only way from options to a load.
//!
//! ```
//! use inrush_commands::options::{ByteSize, LoadOptions, OptionGroup};
//!
//! let mut options = LoadOptions::default();
//! options.sizes.batch_bytes = ByteSize::new(4 << 20);
//! // As a front end has them: text, or a value of JSON.
//! options.give("in_flight", serde_json::json!(8))?;
//! options.give("linger", "500ms")?;
//! assert!(options.give("in_flight", "many").unwrap_err().to_string().contains("whole number"));
//! let given: Vec<&str> = options.given().map(|info| info.name).collect();
//! assert_eq!(given, ["batch_bytes", "in_flight", "linger"]);
//! # Ok::<(), inrush_commands::options::OptionError>(())
//! ```

#[macro_use]
mod macros;
#[macro_use]
mod choice;
mod builder;
#[allow(rustdoc::invalid_html_tags, rustdoc::broken_intra_doc_links, reason = "the texts are also those of the help")]
mod groups;
mod info;
mod loader;
mod plan;
mod resolve;
mod slot;
mod units;
mod values;

use std::path::Path;

pub use builder::LoaderBuilder;
#[doc(hidden)]
pub use choice::expected;
pub use choice::{MapFrom, OrAuto};
pub use groups::{
    DatabaseSourceOptions, EndOptions, ErrorOptions, FetchOptions, IndexSourceOptions, KafkaGroupOptions,
    KafkaSourceOptions, KafkaValueOptions, LoginOptions, QueryOptions, ReadingOptions, ResumeOptions, ShapeOptions,
    SizeOptions, SourceLoginOptions, SourceOptions, TargetOptions, WatchOptions,
};
pub use info::{Choice, OptionInfo, OptionKind, Outputs, PathKind, Scope, ValueInfo};
pub use inrush_load::{OptionError, OptionErrorKind, Style, keyword, render};
pub use loader::Loader;
pub use plan::{Confirmation, FetchPlan, LoadPlan, LocalNode, OpenSource};
pub use resolve::{Environment, Inputs, Model, Use, nodes, read_body, refused_watch, urls};
#[doc(hidden)]
pub use slot::{Argument, NotText, SetterValue};
pub use slot::{Given, IntoOption, OptionGroup, OptionValue, Slot};
pub use units::{ByteSize, Count, HeapSize, PositiveDuration, Shrink, Whole};
pub use values::{
    Body, ColumnSchema, Comment, Decimal, EarlierLoad, Escape, Folder, NamedTable, Pair, PatternEntry, Quote,
    SearchQuery, Separator, VectorsOf,
};

/// Declares the options of a load as groups. Those of kinds of sources are refused where the source
/// is of another kind; the others are listed in [`ForAll`].
macro_rules! all_options {
    ($(#[doc = $doc:literal])* struct LoadOptions {
        $(#[doc = $source_doc:literal])* source: SourceOptions,
        kinds { $($(#[doc = $kind_doc:literal])* $kind:ident: $of_kind:ident,)* }
        $($(#[doc = $all_doc:literal])* $all:ident: $of_all:ident,)*
    }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct LoadOptions {
            $(#[doc = $source_doc])*
            pub source: SourceOptions,
            $( $(#[doc = $kind_doc])* pub $kind: $of_kind, )*
            $( $(#[doc = $all_doc])* pub $all: $of_all, )*
        }

        /// The options of a load that are for sources of each kind.
        #[expect(dead_code, reason = "who does not use a group lists it, too")]
        pub(crate) struct ForAll<'a> {
            pub(crate) source: &'a SourceOptions,
            $( pub(crate) $all: &'a $of_all, )*
        }

        impl LoadOptions {
            /// The definitions of the options that are for some kinds of sources.
            pub fn infos_of_kinds() -> Vec<&'static OptionInfo> {
                [$( $of_kind::infos() ),*].concat()
            }

            /// The groups for sources of each kind. Who uses them lists all, so that a new one is
            /// used or refused there.
            pub(crate) fn for_all(&self) -> ForAll<'_> {
                ForAll { source: &self.source, $( $all: &self.$all ),* }
            }
        }

        all_options! { @group source: SourceOptions, $( $kind: $of_kind, )* $( $all: $of_all, )* }
    };
    (@group $($place:ident: $group:ident,)*) => {
        impl OptionGroup for LoadOptions {
            fn infos() -> Vec<&'static OptionInfo> {
                [$( $group::infos() ),*].concat()
            }

            fn set(&mut self, name: &str, given: Given) -> Option<Result<(), String>> {
                $(
                    if $group::TABLE.iter().any(|info| info.name == name) {
                        return self.$place.set(name, given);
                    }
                )*
                None
            }

            fn is_given(&self, name: &str) -> bool {
                $( self.$place.is_given(name) )||*
            }

            fn relative_to(&mut self, folder: &Path) {
                $( self.$place.relative_to(folder); )*
            }

            fn fill(&mut self, lower: &Self, decided: &dyn Fn(&str) -> bool) {
                $( self.$place.fill(&lower.$place, decided); )*
            }
        }
    };
}

all_options! {
    /// The options of a load, before any check of their combination.
    ///
    /// All fields are public, and neither this struct nor its groups are `#[non_exhaustive]`: a
    /// command that uses them lists every option, so that a new one does not compile before it is
    /// handled or refused there. A program sets them through
    /// [`Loader::builder`](crate::Loader::builder), which a new option does not break.
    struct LoadOptions {
        /// The sources.
        source: SourceOptions,
        kinds {
            /// How the sources are read.
            reading: ReadingOptions,
            /// The part of a database that is read.
            database: DatabaseSourceOptions,
            /// A query between the sources and the documents.
            query: QueryOptions,
            /// The part of a source index that is read, and the properties that the target gets.
            index_source: IndexSourceOptions,
            /// The part of Kafka's topics that is read.
            kafka: KafkaSourceOptions,
            /// What the values of Kafka's records are.
            kafka_values: KafkaValueOptions,
            /// The consumer group, and the connection to Kafka's brokers.
            kafka_group: KafkaGroupOptions,
            /// Authentication at the source: a cluster, or Kafka's brokers.
            source_login: SourceLoginOptions,
        }
        /// Changes of the documents.
        shape: ShapeOptions,
        /// Look-ups of documents.
        fetch: FetchOptions,
        /// The target.
        target: TargetOptions,
        /// Authentication at the target cluster.
        login: LoginOptions,
        /// Sizes, limits and times.
        sizes: SizeOptions,
        /// The treatment of documents that cannot be indexed, and the checks at the end.
        errors: ErrorOptions,
        /// The steps after the last document.
        end: EndOptions,
        /// How a load that was cut off continues.
        resume: ResumeOptions,
        /// What shows a load while it runs.
        watch: WatchOptions,
    }
}

/// Groups of options that are one choice: if the command line gives one of them, those of the job
/// file do not count.
const CHOICES: [&[&str]; 13] = [
    &["sources", "from_dead_letters"],
    &["id", "id_from"],
    &["recreate", "resume"],
    &["resume", "once"],
    &["sql", "sql_file"],
    &["db_table", "db_query"],
    &["strict", "max_errors"],
    &[
        "user",
        "password_file",
        "password_env",
        "api_key_file",
        "api_key_env",
        "bearer_file",
        "bearer_env",
        "aws_sigv4",
        "aws_region",
        "aws_profile",
    ],
    &["no_header", "columns"],
    &["mapping", "map", "copy_mapping"],
    &["mapping", "mixed", "copy_mapping"],
    &["settings", "copy_settings"],
    &[
        "from_user",
        "from_password_file",
        "from_password_env",
        "from_api_key_file",
        "from_api_key_env",
        "from_bearer_file",
        "from_bearer_env",
        "from_aws_sigv4",
        "from_aws_region",
        "from_aws_profile",
    ],
];

impl LoadOptions {
    /// Sets an option by its name. A list gets all of its values at once.
    ///
    /// # Errors
    /// There is no such option, or its value cannot be parsed.
    pub fn give(&mut self, name: &str, given: impl Into<Given>) -> Result<(), OptionError> {
        let unknown = || {
            let error = OptionError::new(OptionErrorKind::Unknown, format!("no option is called `{name}`"));
            match nearest(name, Self::infos().into_iter().map(|info| info.name)) {
                Some(other) => error.hint(format!("did you mean `{other}`?")),
                None => error,
            }
        };
        let info = Self::info(name).ok_or_else(unknown)?;
        match self.set(name, given.into()) {
            Some(set) => set.map_err(|problem| OptionError::value(info.name, problem)),
            None => Err(unknown()),
        }
    }

    /// The definition of an option.
    pub fn info(name: &str) -> Option<&'static OptionInfo> {
        Self::infos().into_iter().find(|info| info.name == name)
    }

    /// These options, completed by those of `lower`. Options that exclude each other are one
    /// choice: if it is made here, `lower`'s part of it does not count.
    #[must_use]
    pub fn over(mut self, lower: &LoadOptions) -> Self {
        let given: Vec<&str> = self.given().map(|info| info.name).collect();
        let decided = |name: &str| {
            let excludes = |other: &&str| CHOICES.iter().any(|choice| choice.contains(&name) && choice.contains(other));
            given.iter().any(|other| *other == name || excludes(other))
        };
        self.fill(lower, &decided);
        self
    }
}

/// The known name that is most similar to `name`, if one is.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|known| (strsim::jaro_winkler(name, known), known))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(similarity, _)| *similarity > 0.7)
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests;
