//! One case, and the table that lists the cases of a module.

use std::future::Future;
use std::pin::Pin;

use inrush_fake::Flavor;

use super::check::Check;
use super::target::TestedServer;

type Run = for<'a> fn(&'a TestedServer) -> Pin<Box<dyn Future<Output = Check> + Send + 'a>>;

/// One behaviour that a loader relies on.
#[derive(Clone, Copy)]
pub struct Case {
    /// Name, unique.
    pub name: &'static str,
    /// The behaviour, in a sentence.
    pub says: &'static str,
    /// Modules of the server that the case needs; it is skipped without them.
    pub modules: &'static [&'static str],
    /// True for the products and versions with this behaviour; the case is skipped elsewhere.
    pub applies: fn(&Flavor) -> bool,
    /// The check.
    pub(super) run: Run,
}

impl Case {
    /// Checks a server.
    pub(super) async fn check(&self, target: &TestedServer) -> Check {
        (self.run)(target).await
    }
}

/// The outcome of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaseOutcome {
    /// The server behaves as the case says.
    Passed,
    /// The server differs, in this way.
    Failed(String),
    /// The case does not apply, for this reason.
    Skipped(String),
}

/// The default of [`Case::applies`].
pub(super) fn anywhere(_: &Flavor) -> bool {
    true
}

/// The table of the cases of a module: name, sentence, and optionally modules and
/// [`Case::applies`]. The name is that of an async function.
macro_rules! case_table {
    ($($name:ident $says:literal $(modules $modules:expr)? $(, on $applies:expr)?;)+) => {
        pub(super) const CASES: &[$crate::conformance::case::Case] = &[$($crate::conformance::case::Case {
            name: stringify!($name),
            says: $says,
            modules: $crate::conformance::case::case_table!(@modules $($modules)?),
            applies: $crate::conformance::case::case_table!(@applies $($applies)?),
            run: |target| Box::pin($name(target)),
        }),+];
    };
    (@modules) => { &[] };
    (@modules $modules:expr) => { &$modules };
    (@applies) => { $crate::conformance::case::anywhere };
    (@applies $applies:expr) => { $applies };
}
pub(super) use case_table;
