//! Faults by script: rules that decide what goes wrong, without a clock and without randomness.

mod fault;
mod rule;
mod script;
mod state;
mod wording;

pub use self::fault::Fault;
pub use self::rule::Rule;
pub use self::script::Faults;
pub(crate) use self::state::{FaultState, RequestFacts};
pub(crate) use self::wording::{item_error, rejected, request_error, unauthorized};
