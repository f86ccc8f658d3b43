//! Warnings about a load as a whole.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::report::WarningDetail;

/// Warnings about the load as a whole: each is logged at once, and stands in the report. Clones
/// share them.
#[derive(Clone, Default)]
pub struct Told(Arc<Mutex<Vec<WarningDetail>>>);

impl Told {
    /// Warns of something once.
    pub fn warn(&self, text: impl Into<String>) {
        self.add(WarningDetail::of_load(text.into()));
    }

    /// Warns of something with a code or a place, once.
    pub fn add(&self, warning: WarningDetail) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !all.iter().any(|known| known.text == warning.text) {
            tracing::warn!("{}", warning.text);
            all.push(warning);
        }
    }

    /// The warnings since the last call.
    pub fn take(&self) -> Vec<WarningDetail> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The same warnings, which get no more of the others.
    pub(crate) fn fork(&self) -> Self {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Told(Arc::new(Mutex::new(all)))
    }
}

/// They are no option of a load.
impl fmt::Debug for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Told")
    }
}
