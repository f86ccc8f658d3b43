//! Chance rejections told from a full queue, by how they are spread over the requests.

/// Requests that are looked at before a verdict, and rejected documents.
const REQUESTS_LEAST: f64 = 12.0;
const REJECTED_LEAST: f64 = 12.0;
/// Documents of a request below which both kinds look alike.
const DOCS_LEAST: f64 = 24.0;
/// Chance has a dispersion of 1. A queue rejects the part of a request for a shard as a whole, so
/// its dispersion is near the documents of such a part.
const DISPERSION_MOST: f64 = 2.5;
/// After this number of requests, old ones count half.
const REMEMBERED: f64 = 256.0;

/// The index of dispersion of the rejected documents of requests: their variance as a multiple of
/// the binomial one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scatter {
    requests: f64,
    docs: f64,
    rejected: f64,
    /// The sum of rejected^2 / docs.
    squares: f64,
}

impl Scatter {
    /// Takes the answer to a request.
    pub(super) fn add(&mut self, docs: u32, rejected: u32) {
        if docs == 0 {
            return;
        }
        if self.requests >= REMEMBERED {
            let half = |sum: &mut f64| *sum /= 2.0;
            [&mut self.requests, &mut self.docs, &mut self.rejected, &mut self.squares].into_iter().for_each(half);
        }
        let (docs, rejected) = (f64::from(docs), f64::from(rejected));
        self.requests += 1.0;
        self.docs += docs;
        self.rejected += rejected;
        self.squares += rejected * rejected / docs;
    }

    /// The part of the documents that chance rejects; `None` if it is not chance, or not yet known
    /// to be.
    pub(super) fn chance(&self) -> Option<f64> {
        if self.requests < REQUESTS_LEAST || self.rejected < REJECTED_LEAST || self.is_unclear() {
            return None;
        }
        let part = self.rejected / self.docs;
        let dispersion = (self.squares - part * self.rejected) / (self.requests * part * (1.0 - part).max(1e-9));
        (dispersion < DISPERSION_MOST).then_some(part)
    }

    /// The weight of a request with this number of documents: 1 for the usual one, and at most.
    pub(super) fn weight(&self, docs: u32) -> f64 {
        (f64::from(docs) * self.requests.max(1.0) / self.docs.max(1.0)).min(1.0)
    }

    /// Whether requests have too few documents to tell.
    pub(super) fn is_unclear(&self) -> bool {
        self.docs < DOCS_LEAST * self.requests
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jitter::Jitter;

    #[test]
    fn a_share_of_each_request_is_chance_and_a_block_of_some_is_not() {
        let [mut chance, mut queue, mut one_of_ten_shards] = [Scatter::default(); 3];
        let mut jitter = Jitter::new(1);
        for request in 0..40 {
            let rejected = (0..400).filter(|_| jitter.unit() < 0.03).count() as u32;
            chance.add(400, rejected);
            queue.add(400, if request % 30 == 5 { 400 } else { 0 });
            one_of_ten_shards.add(400, if request % 3 == 0 { 40 } else { 0 });
        }
        assert!(chance.chance().is_some_and(|part| (part - 0.03).abs() < 0.01), "{chance:?}");
        assert_eq!((queue.chance(), one_of_ten_shards.chance()), (None, None));
    }

    #[test]
    fn few_documents_in_a_request_tell_nothing() {
        let mut scatter = Scatter::default();
        (0..200).for_each(|request| scatter.add(8, u32::from(request % 5 == 0)));
        assert!(scatter.is_unclear() && scatter.chance().is_none());
    }
}
