//! The behaviour that a loader relies on, as cases. They run against the fake and against real
//! servers. Where the two differ, the real server is right and the fake is to be fixed.

mod bulk_body;
mod case;
mod check;
mod guard;
mod indices;
mod items;
mod modes;
mod reads;
mod swap;
mod target;

pub use self::case::{Case, CaseOutcome};
pub use self::check::Check;
pub use self::target::TestedServer;

/// All cases.
pub fn cases() -> Vec<Case> {
    [bulk_body::CASES, items::CASES, indices::CASES, reads::CASES, modes::CASES, guard::CASES, swap::CASES].concat()
}

/// Runs all cases, one after the other.
pub async fn run_all(target: &TestedServer) -> Vec<(&'static str, CaseOutcome)> {
    let mut outcomes = Vec::new();
    for case in cases() {
        outcomes.push((case.name, run(&case, target).await));
    }
    outcomes
}

/// Runs one case and deletes its indices.
pub async fn run(case: &Case, target: &TestedServer) -> CaseOutcome {
    if !(case.applies)(&target.flavor) {
        return CaseOutcome::Skipped(format!("does not apply to {}", target.flavor));
    }
    if let Some(missing) = case.modules.iter().find(|module| !target.modules.contains(**module)) {
        return CaseOutcome::Skipped(format!("module {missing} is missing"));
    }
    let checked = case.check(target).await;
    target.clean_up().await;
    match checked {
        Ok(()) => CaseOutcome::Passed,
        Err(difference) => CaseOutcome::Failed(difference),
    }
}
