//! Finds the documents of the index that are not in the source: it reads and sorts the index's ids,
//! and merges the two sorted lists.

use inrush_cluster::api::ClusterError;
use inrush_cluster::api::lookup::Scan;
use inrush_cluster::transport::{HttpErrorKind, Transport};

use super::found::{Finding, Verdict, id_of, key_of};
use super::report::{Example, has_room};
use super::sort::{Sorted, Sorter};
use super::{VerifyError, io_error};

/// The number of attempts to read all ids. A page whose answer is lost cannot be requested again.
const TRIES: u32 = 3;

/// The documents that only the index has.
#[derive(Debug, Default)]
pub(super) struct Extra {
    pub(super) docs: u64,
    pub(super) examples: Vec<Example>,
    /// Documents whose ids the index has, although the lookup did not find them.
    pub(super) not_found_by_id: u64,
}

/// Reads the ids of `name`, and compares them with those of the source. `routed`: the source has
/// routing values.
pub(super) async fn extra(
    transport: &Transport,
    name: &str,
    source: &Sorted,
    routed: bool,
    sort_memory: usize,
    progress: impl Fn(u64),
) -> Result<Extra, VerifyError> {
    let mut tries = 0;
    let ids = loop {
        tries += 1;
        match scan(transport, name, routed, sort_memory, &progress).await {
            Err(VerifyError::Cluster(ClusterError::Http(error)))
                if error.kind == HttpErrorKind::Lost && tries < TRIES =>
            {
                tracing::warn!("{error}; reading the ids of {name} again from the beginning");
            }
            other => break other?,
        }
    };
    join(source, &ids).map_err(io_error("reading a temporary file"))
}

async fn scan(
    transport: &Transport,
    name: &str,
    routed: bool,
    sort_memory: usize,
    progress: &impl Fn(u64),
) -> Result<Sorted, VerifyError> {
    let mut ids = Sorter::new(sort_memory);
    let mut scan = Scan::new(transport, name);
    let mut count = 0;
    loop {
        let page = scan.next().await?;
        if page.is_empty() {
            break;
        }
        count += page.len() as u64;
        progress(count);
        for (id, routing) in page {
            let key = key_of(&id, routing.as_deref().filter(|_| routed));
            ids.push(&key, &[]).map_err(io_error("sorting in a temporary file"))?;
        }
    }
    scan.close().await;
    Ok(ids.finish())
}

fn join(source: &Sorted, ids: &Sorted) -> std::io::Result<Extra> {
    let mut extra = Extra::default();
    let mut source = source.read()?;
    let mut ids = ids.read()?;
    let mut next = source.next_group()?;
    while let Some((key, there)) = ids.next_group()? {
        while next.as_ref().is_some_and(|(in_source, _)| *in_source < key) {
            next = source.next_group()?;
        }
        let finding = next.as_ref().filter(|(in_source, _)| *in_source == key);
        // The file holds only findings that this process has written.
        let verdict = finding.and_then(|(_, group)| Finding::from_bytes(&group.last)).map(|finding| finding.verdict);
        let more = match verdict {
            None => there.count,
            Some(Verdict::Same | Verdict::Different) => there.count - 1,
            Some(Verdict::Missing) => {
                extra.not_found_by_id += 1;
                0
            }
        };
        extra.docs += more;
        if more > 0 && has_room(&extra.examples) {
            let (id, routing) = id_of(&key);
            let detail = verdict.map(|_| format!("{} times in the index", there.count));
            extra.examples.push(Example { id: Some(id), routing, source: None, line: None, detail });
        }
    }
    Ok(extra)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::read::Place;

    #[test]
    fn what_only_the_index_has_is_counted() {
        let mut source = Sorter::new(1);
        for (key, verdict) in
            [("a", Verdict::Same), ("c", Verdict::Different), ("d", Verdict::Missing), ("e", Verdict::Missing)]
        {
            let place = Place { source: 0, line: 1 };
            let finding = Finding { verdict, place, kept: None, fields: String::new() };
            source.push(key.as_bytes(), &finding.to_bytes()).unwrap();
        }
        let mut ids = Sorter::new(1);
        for key in ["c", "b", "a", "c", "d", "z"] {
            ids.push(key.as_bytes(), b"").unwrap();
        }
        let extra = join(&source.finish(), &ids.finish()).unwrap();
        assert_eq!((extra.docs, extra.not_found_by_id), (3, 1));
        let ids: Vec<&str> = extra.examples.iter().filter_map(|example| example.id.as_deref()).collect();
        assert_eq!(ids, ["b", "c", "z"]);
        assert_eq!(extra.examples[1].detail.as_deref(), Some("2 times in the index"));
    }
}
