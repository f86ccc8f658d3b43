//! The engine of `inrush`: one load, from a source to a report that accounts for every document.
//!
//! Programs use the crate `inrush`, which has the stable names. Here are the parts behind them.

mod beginnings;
pub mod checkpoint;
mod compare;
mod compress;
pub mod config;
mod count_check;
pub mod cutover;
mod dead_letter;
pub mod dry_run;
mod error;
mod event;
mod feedback;
pub mod fetch;
mod grace;
mod guard_plan;
mod idle;
pub mod ids;
mod learned;
pub mod loader;
mod notify;
pub mod observe;
mod option_error;
mod order;
mod outcomes;
mod over;
mod primaries;
mod private;
mod progress;
pub mod reader;
mod report;
mod run;
mod send;
mod share;
mod since;
mod targets;
mod told;
mod tolerance;
mod trace;
mod utc;
mod vector_check;

pub use checkpoint::LOADS_INDEX;
pub use error::LoadError;
pub use event::StopSignal;
pub use inrush_guard::{GUARD_INDEX, RecoverOptions, Recovered, RecoveredState, recover};
pub use loader::{BeginningHandle, ConfiguredLoad, Others, PauseHandle, PushLoad, RunningLoad, StopHandle};
pub use option_error::{OptionError, OptionErrorKind, Style, keyword, render};
pub use outcomes::{Failure, Failures, Settlements};
pub use progress::{Phase, Progress, ShowPhase, Step};
pub use report::{
    FinishReport, IndexSizes, NewIndexReport, OldIndex, OldWritesReport, PlanReport, Report, SettingChange,
    SettingsReport, SettingsRestored, SinceReport, SourceReport, StartFrom, StartOutcome, StartReport, Status,
    StepReport, SwapReport, ThisRun, Verified, VerifiedState, VerifiedVectors, WarningDetail,
};
pub use tolerance::ToleranceReport;
