//! Batches of keys: several at once, and halves of those that are refused.

use inrush_cluster::clock;
use inrush_core::Code;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::Semaphore;

use super::answer::{Found, by_key};
use super::{Answer, Fetch, FetchError, Fetched};

/// The most keys of one question.
pub(crate) const KEYS_MAX: usize = 1_000;

/// The most questions at once.
const AT_ONCE: usize = 8;

/// The longest time for an answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(120);

/// A place that is asked for records.
pub(crate) trait Ask: Send + Sync {
    /// The key in the form that records have it in, or why no record can have it.
    fn key(&self, id: &str) -> Result<String, String>;

    /// The number of keys at the beginning of `keys` that one question may have: at least 1.
    fn fit(&self, keys: &[String]) -> usize;

    /// The records of these keys.
    fn ask(&self, keys: &[String]) -> impl Future<Output = Result<Vec<Found>, Failed>> + Send;
}

/// Why a question has no answer.
#[derive(Debug)]
pub(crate) enum Failed {
    /// It is refused for one of its keys, or because it is too large.
    Keys(String),
    /// Another question would have none, either.
    Away(FetchError),
}

/// Asks for keys in batches.
pub(crate) struct Batches<A> {
    place: A,
    document_bytes_max: usize,
    turns: Semaphore,
    /// A question had an answer, so it is well-formed, and a refusal is about the keys.
    has_answered: AtomicBool,
}

impl<A: Ask> Batches<A> {
    pub(crate) fn new(place: A, document_bytes_max: usize) -> Self {
        let has_answered = AtomicBool::new(false);
        Batches { place, document_bytes_max, turns: Semaphore::new(AT_ONCE), has_answered }
    }

    async fn look_up(&self, ids: &[String]) -> Result<Vec<Answer>, FetchError> {
        let keys: Vec<Result<String, String>> = ids.iter().map(|id| self.place.key(id)).collect();
        let mut distinct: Vec<String> = keys.iter().flatten().cloned().collect();
        distinct.sort_unstable();
        distinct.dedup();
        let mut asking = FuturesUnordered::new();
        let mut rest = &distinct[..];
        while !rest.is_empty() {
            let (batch, others) = rest.split_at(self.place.fit(rest).clamp(1, rest.len()));
            asking.push(self.batch(batch));
            rest = others;
        }
        let mut answers: HashMap<String, Answer> = HashMap::with_capacity(distinct.len());
        while let Some(answered) = asking.next().await {
            answers.extend(answered?);
        }
        let answer = |key: Result<String, String>| match key {
            // Each key was asked for.
            Ok(key) => answers.get(&key).cloned().unwrap_or(Answer::NoRecord),
            Err(reason) => Answer::Refused { kind: Code::BadKey, reason },
        };
        Ok(keys.into_iter().map(answer).collect())
    }

    /// The answers for a batch. A batch that is refused is asked for in halves, down to the key
    /// that it is refused for.
    async fn batch(&self, keys: &[String]) -> Result<Vec<(String, Answer)>, FetchError> {
        let mut answers = Vec::with_capacity(keys.len());
        let mut refused = Vec::new();
        let mut waiting = vec![keys];
        while let Some(keys) = waiting.pop() {
            match self.ask(keys).await {
                Ok(records) => {
                    self.has_answered.store(true, Ordering::Relaxed);
                    answers.extend(by_key(keys, records, self.document_bytes_max));
                }
                Err(Failed::Keys(_)) if keys.len() > 1 => {
                    let (first, second) = keys.split_at(keys.len() / 2);
                    waiting.extend([second, first]);
                }
                Err(Failed::Keys(reason)) => refused.extend(keys.iter().map(|key| (key.clone(), reason.clone()))),
                Err(Failed::Away(error)) => return Err(error),
            }
        }
        match refused.first() {
            Some((_, reason)) if !self.has_answered.load(Ordering::Relaxed) => {
                Err(FetchError::new(reason.clone()).lasting())
            }
            _ => {
                let answer = |(key, reason)| (key, Answer::Refused { kind: Code::RefusedKey, reason });
                answers.extend(refused.into_iter().map(answer));
                Ok(answers)
            }
        }
    }

    async fn ask(&self, keys: &[String]) -> Result<Vec<Found>, Failed> {
        // The semaphore is never closed.
        let _turn = self.turns.acquire().await;
        match clock::timeout(ANSWER_WITHIN, self.place.ask(keys)).await {
            Ok(answer) => answer,
            Err(_) => {
                let message = format!("no answer came within {} s", ANSWER_WITHIN.as_secs());
                Err(Failed::Away(FetchError::new(message)))
            }
        }
    }
}

impl<A: Ask> Fetch for Batches<A> {
    fn fetch<'a>(&'a self, ids: &'a [String]) -> Fetched<'a> {
        Box::pin(self.look_up(ids))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use bytes::Bytes;

    use super::*;

    /// Has the records of even numbers, refuses batches with 13, and is away for batches with 99.
    #[derive(Default)]
    struct Numbers(Mutex<Vec<usize>>);

    impl Ask for Numbers {
        fn key(&self, id: &str) -> Result<String, String> {
            id.parse::<u32>().map(|number| number.to_string()).map_err(|_| format!("{id} is no number"))
        }

        fn fit(&self, _: &[String]) -> usize {
            4
        }

        async fn ask(&self, keys: &[String]) -> Result<Vec<Found>, Failed> {
            self.0.lock().unwrap().push(keys.len());
            if keys.iter().any(|key| key == "99") {
                return Err(Failed::Away(FetchError::new("no route")));
            }
            if keys.iter().any(|key| key == "13") {
                return Err(Failed::Keys("13 is unlucky".to_owned()));
            }
            let even = |key: &&String| key.parse::<u32>().unwrap().is_multiple_of(2);
            let found =
                |key: &String| Found { key: Some(key.clone()), document: Bytes::from(format!("{{\"id\":{key}}}")) };
            Ok(keys.iter().filter(even).map(found).collect())
        }
    }

    fn ids(ids: &[&str]) -> Vec<String> {
        ids.iter().map(|id| (*id).to_owned()).collect()
    }

    fn document(id: u32) -> Answer {
        Answer::Document(Bytes::from(format!("{{\"id\":{id}}}")))
    }

    fn refused(kind: Code, reason: &str) -> Answer {
        Answer::Refused { kind, reason: reason.to_owned() }
    }

    #[tokio::test]
    async fn answers_are_in_the_order_of_the_ids_and_a_key_is_asked_for_once() {
        let batches = Batches::new(Numbers::default(), 100);
        let answers = batches.fetch(&ids(&["8", "3", "x", "08", "2", "4", "6"])).await.unwrap();
        let bad = refused(Code::BadKey, "x is no number");
        assert_eq!(answers, [document(8), Answer::NoRecord, bad, document(8), document(2), document(4), document(6)]);
        let mut sizes = batches.place.0.lock().unwrap().clone();
        sizes.sort_unstable();
        assert_eq!(sizes, [1, 4]);
        assert_eq!(batches.fetch(&[]).await.unwrap(), []);
    }

    #[tokio::test]
    async fn a_key_that_is_refused_does_not_spoil_its_batch() {
        let batches = Batches::new(Numbers::default(), 100);
        let answers = batches.fetch(&ids(&["13", "14", "15", "16"])).await.unwrap();
        assert_eq!(answers, [refused(Code::RefusedKey, "13 is unlucky"), document(14), Answer::NoRecord, document(16)]);
    }

    #[tokio::test]
    async fn a_place_that_never_answered_may_refuse_every_key_so_that_is_an_error() {
        let batches = Batches::new(Numbers::default(), 100);
        assert_eq!(batches.fetch(&ids(&["13"])).await.unwrap_err().to_string(), "13 is unlucky");
        batches.fetch(&ids(&["2"])).await.unwrap();
        assert_eq!(batches.fetch(&ids(&["13"])).await.unwrap(), [refused(Code::RefusedKey, "13 is unlucky")]);
        assert_eq!(batches.fetch(&ids(&["1", "99"])).await.unwrap_err().to_string(), "no route");
    }
}
