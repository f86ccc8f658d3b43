//! Retries with growing pauses.

use std::time::Duration;

use inrush_cluster::{Wait, clock};
use inrush_core::waits::Waits;

/// First pause between tries. Each further pause is twice as long, up to the second value.
pub(super) const PAUSE_MIN: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// Retries of requests, for so long after the first failure in a row.
pub(super) fn retries(retry_for: Duration) -> Wait {
    Wait::of_failures(Waits::new(retry_for, PAUSE_MIN, PAUSE_MAX))
}

/// Waits before the next try, for `after` where it is given.
///
/// # Errors
/// The time limit has passed. The text has the last error.
pub(super) async fn pause(retries: &mut Wait, why: String, after: Option<Duration>) -> Result<(), String> {
    let is_first = retries.failures() == 0;
    let Some(pause) = retries.next(after) else {
        return Err(format!(
            "it could not be read for {} s: {why}; documents that were read before are loaded, and option `resume` continues the load",
            retries.elapsed().as_secs()
        ));
    };
    if is_first {
        tracing::info!("reading the source failed and is tried again: {why}");
    }
    clock::sleep(pause).await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_index_that_is_away_is_asked_for_ten_minutes_after_the_last_success() {
        let mut retries = retries(Duration::from_secs(600));
        for _ in 0..10 {
            pause(&mut retries, "status 503".to_owned(), None).await.unwrap();
        }
        retries.succeeded();
        clock::sleep(Duration::from_secs(3600)).await;
        let (begun, mut pauses) = (clock::now(), 0);
        let why = loop {
            match pause(&mut retries, "status 503".to_owned(), None).await {
                Ok(()) => pauses += 1,
                Err(why) => break why,
            }
        };
        assert!(why.starts_with("it could not be read for 600 s: status 503;"), "{why}");
        assert_eq!(begun.elapsed().as_secs(), 600);
        // 0.2 s, 0.4 s and so on up to 10 s.
        assert_eq!(pauses, 65);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_names_a_pause_gets_it_up_to_10_s() {
        let mut retries = retries(Duration::from_secs(600));
        for (asked_for, expected) in [(0, 0), (7, 7), (3600, 10)] {
            let begun = clock::now();
            pause(&mut retries, "status 429".to_owned(), Some(Duration::from_secs(asked_for))).await.unwrap();
            assert_eq!(begun.elapsed().as_secs(), expected);
        }
    }
}
