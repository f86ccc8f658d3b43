//! The macro that defines a group of options: each option once, with its type and its
//! documentation.

/// Declares a group of options. From one declaration come the struct, its table of
/// [`OptionInfo`](crate::options::OptionInfo), [`OptionGroup`](crate::options::OptionGroup), and
/// one setter per option on a builder, if one is named.
///
/// The type of a field is the kind of the option: `bool` a flag, `u8` a flag that counts,
/// `Option<T>` one value, `Vec<T>` a list; see [`OptionValue`](crate::options::OptionValue) for
/// `T`. Behind the type stand the name of the value in a usage text, and calls of
/// [`OptionInfo`](crate::options::OptionInfo)'s methods. Calls behind the heading are for each
/// option of the group. The doc comment is the help text.
///
/// ```
/// inrush_commands::options! {
///     /// The options of a pump.
///     pub struct PumpOptions, "Pump" {
///         /// Bytes that are pumped at a time.
///         piece: Option<inrush_commands::options::ByteSize> = "SIZE", default("1MiB");
///         /// Pump backwards.
///         backwards: bool;
///     }
/// }
/// use inrush_commands::options::OptionGroup;
/// let mut options = PumpOptions::default();
/// options.set("piece", "2MiB".into()).unwrap().unwrap();
/// assert_eq!(options.piece.unwrap().bytes(), 2 << 20);
/// assert_eq!(PumpOptions::TABLE[1].name, "backwards");
/// ```
#[macro_export]
macro_rules! options {
    ( $(#[doc = $doc:literal])* $vis:vis struct $group:ident in $builder:ident . $place:ident, $heading:literal
      $(, $of_all:ident ( $($of_all_argument:expr),* ))* { $($fields:tt)* } ) => {
        $crate::options! {
            $(#[doc = $doc])*
            $vis struct $group, $heading $(, $of_all($($of_all_argument),*))* { $($fields)* }
        }
        $crate::option_setters! { $builder . $place { $($fields)* } }
    };
    (
        $(#[doc = $group_doc:literal])*
        $vis:vis struct $group:ident, $heading:literal $(, $of_all:ident ( $($of_all_argument:expr),* ))* {
            $(
                $(#[doc = $doc:literal])*
                $name:ident $([$setter:ident])? : $slot:ty $(= $value:literal)? $(, $attribute:ident ( $($argument:expr),* ))*;
            )*
        }
    ) => {
        $(#[doc = $group_doc])*
        #[derive(Clone, Debug, Default, PartialEq)]
        $vis struct $group {
            $( $(#[doc = $doc])* $vis $name: $slot, )*
        }

        impl $group {
            /// The definitions of the options.
            $vis const TABLE: &'static [$crate::options::OptionInfo] = &[
                $(
                    Self::of_group($crate::options::OptionInfo::new::<$slot>(
                        stringify!($name),
                        $heading,
                        concat!($($doc, "\n"),*),
                    ))
                        $( .value_name($value) )?
                        $( .$attribute($($argument),*) )*,
                )*
            ];

            const fn of_group(info: $crate::options::OptionInfo) -> $crate::options::OptionInfo {
                info $( .$of_all($($of_all_argument),*) )*
            }
        }

        impl $crate::options::OptionGroup for $group {
            fn infos() -> Vec<&'static $crate::options::OptionInfo> {
                Self::TABLE.iter().collect()
            }

            fn set(
                &mut self,
                name: &str,
                given: $crate::options::Given,
            ) -> Option<Result<(), String>> {
                let is_delimited = Self::TABLE.iter().any(|info| info.name == name && info.is_delimited);
                let given = if is_delimited { given.split() } else { given };
                match name {
                    $( stringify!($name) => Some($crate::options::Slot::set(&mut self.$name, given)), )*
                    _ => None,
                }
            }

            fn is_given(&self, name: &str) -> bool {
                match name {
                    $( stringify!($name) => $crate::options::Slot::is_given(&self.$name), )*
                    _ => false,
                }
            }

            fn relative_to(&mut self, folder: &std::path::Path) {
                $( $crate::options::Slot::relative_to(&mut self.$name, folder); )*
            }

            fn fill(&mut self, lower: &Self, decided: &dyn Fn(&str) -> bool) {
                $(
                    if !decided(stringify!($name)) {
                        $crate::options::Slot::fill(&mut self.$name, &lower.$name);
                    }
                )*
            }
        }
    };
}

/// The setters of a group, on its builder: for each option its doc comment, its name, and the
/// tokens of its type up to the name of the value, an attribute or the end.
#[doc(hidden)]
#[macro_export]
macro_rules! option_setters {
    ( $builder:ident . $place:ident { $($fields:tt)* } ) => {
        impl $builder {
            $crate::option_setters! { @fields $place $($fields)* }
        }
    };
    ( @fields $place:ident ) => {};
    ( @fields $place:ident $(#[doc = $doc:literal])* $name:ident [$setter:ident] : $($rest:tt)* ) => {
        $crate::option_setters! { @type $place [$(#[doc = $doc])*] $name $setter [] $($rest)* }
    };
    ( @fields $place:ident $(#[doc = $doc:literal])* $name:ident : $($rest:tt)* ) => {
        $crate::option_setters! { @type $place [$(#[doc = $doc])*] $name $name [] $($rest)* }
    };
    ( @type $place:ident $docs:tt $name:ident $setter:ident $type:tt
      $(= $value:literal)? $(, $attribute:ident ( $($argument:tt)* ))* ; $($rest:tt)* ) => {
        $crate::option_setter! { $place $docs $name $setter $type }
        $crate::option_setters! { @fields $place $($rest)* }
    };
    ( @type $place:ident $docs:tt $name:ident $setter:ident [$($type:tt)*] $next:tt $($rest:tt)* ) => {
        $crate::option_setters! { @type $place $docs $name $setter [$($type)* $next] $($rest)* }
    };
}

/// One setter. The setter of a list adds to it.
#[doc(hidden)]
#[macro_export]
macro_rules! option_setter {
    ( $place:ident [$(#[doc = $doc:literal])*] $name:ident $setter:ident [$($type:tt)*] ) => {
        $(#[doc = $doc])*
        #[must_use]
        pub fn $setter(
            mut self,
            value: impl $crate::options::IntoOption<$crate::option_argument! { $($type)* }>,
        ) -> Self {
            let given = $crate::options::Slot::give(&mut self.options.$place.$name, value.into_option());
            if let Err(problem) = given {
                self.refuse(stringify!($name), problem);
            }
            self
        }
    };
}

/// The argument of a setter, [`Slot::Item`](crate::options::Slot::Item), by the option's type: a
/// signature then names the type that a program has. The compiler checks that both agree.
#[doc(hidden)]
#[macro_export]
macro_rules! option_argument {
    (Option<Count>) => {
        u32
    };
    (Option<OrAuto<Count>>) => {
        u32
    };
    (Option<Whole<$min:literal, $max:tt>>) => {
        u32
    };
    (Option<HeapSize>) => {
        $crate::options::ByteSize
    };
    (Option<PositiveDuration>) => {
        std::time::Duration
    };
    (Option<OrAuto<$type:ty>>) => {
        $type
    };
    (Option<Folder>) => {
        std::path::PathBuf
    };
    (Option<SearchQuery>) => {
        serde_json::Value
    };
    (Vec<PatternEntry>) => {
        serde_json::Value
    };
    (Option<MapFrom>) => {
        String
    };
    (Option<Binary>) => {
        String
    };
    (Option<Shrink>) => {
        String
    };
    (Option<PageAddress>) => {
        String
    };
    (Option<OtlpEndpoint>) => {
        String
    };
    (Option<Charset>) => {
        String
    };
    (Option<RecordsPath>) => {
        String
    };
    (Vec<Rename>) => {
        String
    };
    (Option<Zone>) => {
        String
    };
    (Vec<With>) => {
        String
    };
    (Option<Start>) => {
        String
    };
    (Option<Until>) => {
        String
    };
    (Option<VersionFrom>) => {
        String
    };
    (Option<Separator>) => {
        String
    };
    (Option<Decimal>) => {
        String
    };
    (Option<Comment>) => {
        String
    };
    (Option<Quote>) => {
        String
    };
    (Option<Escape>) => {
        String
    };
    (Vec<ColumnSchema>) => {
        String
    };
    (Vec<FixedColumn>) => {
        String
    };
    (Vec<NamePattern>) => {
        String
    };
    (Vec<NamedTable>) => {
        String
    };
    (Vec<Pair>) => {
        String
    };
    (Vec<VectorsOf>) => {
        String
    };
    (Option<$type:ty>) => {
        $type
    };
    (Vec<$type:ty>) => {
        $type
    };
    (bool) => {
        bool
    };
    (u8) => {
        u32
    };
}
