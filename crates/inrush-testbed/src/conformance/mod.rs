//! The behaviour that a loader relies on, as cases. They run against the fake and against real
//! servers. Where the two differ, the real server is right and the fake is to be fixed.

mod bulk_body;
mod case;
mod check;
mod guard;
mod indices;
mod items;
mod reads;
mod swap;
mod target;

pub use self::case::{Case, Outcome};
pub use self::check::Check;
pub use self::target::Target;

/// All cases.
pub fn cases() -> Vec<Case> {
    [bulk_body::CASES, items::CASES, indices::CASES, reads::CASES, guard::CASES, swap::CASES].concat()
}

/// Runs all cases, one after the other.
pub async fn run_all(target: &Target) -> Vec<(&'static str, Outcome)> {
    let mut outcomes = Vec::new();
    for case in cases() {
        outcomes.push((case.name, run(&case, target).await));
    }
    outcomes
}

/// Runs one case and deletes its indices.
pub async fn run(case: &Case, target: &Target) -> Outcome {
    if !(case.applies)(&target.flavor) {
        return Outcome::Skipped(format!("does not apply to {}", target.flavor));
    }
    if let Some(missing) = case.modules.iter().find(|module| !target.modules.contains(**module)) {
        return Outcome::Skipped(format!("module {missing} is missing"));
    }
    let checked = case.check(target).await;
    target.clean_up().await;
    match checked {
        Ok(()) => Outcome::Passed,
        Err(difference) => Outcome::Failed(difference),
    }
}
