use serde_json::{Value, json};

use super::*;

/// A copy with segments of these generations, documents, deletions and bytes.
fn shard(index: &str, number: u32, node: &str, segments: &[(u64, u64, u64, u64)]) -> ShardSegments {
    let segment = |(generation, docs, deleted, bytes): &(u64, u64, u64, u64)| Segment {
        generation: *generation,
        docs: *docs,
        deleted: *deleted,
        bytes: *bytes,
        searchable: true,
        committed: true,
        ..Segment::default()
    };
    ShardSegments {
        index: index.into(),
        shard: number,
        primary: node == "a",
        node: node.into(),
        segments: segments.iter().map(segment).collect(),
    }
}

fn moment(time: u64, shards: Vec<ShardSegments>) -> SegmentsMoment {
    SegmentsMoment { time, shards, activity: Some(MergeActivity::default()), ..SegmentsMoment::default() }
}

fn texts(now: &SegmentsMoment, since: Option<&Since>) -> BTreeMap<&'static str, String> {
    advise(now, since).into_iter().map(|advice| (advice.id, advice.text)).collect()
}

#[test]
fn totals_count_documents_once_and_segments_of_all_copies() {
    let mut shards = vec![
        shard("logs", 0, "a", &[(0, 90, 10, 1_000), (3, 5, 0, 100)]),
        shard("logs", 0, "b", &[(0, 90, 10, 1_100)]),
        shard("trips", 0, "a", &[(7, 1, 0, 10), (8, 1, 0, 10), (9, 4, 0, 40)]),
    ];
    // Merged into another one, and not deleted before the next flush.
    shards[2].segments[0].searchable = false;
    // Written after the last refresh.
    (shards[2].segments[1].searchable, shards[2].segments[1].committed) = (false, false);
    shards[0].segments[1].merge = Some("1".into());
    let totals = Totals::of(&shards);
    assert_eq!((totals.indices, totals.copies, totals.primaries), (2, 3, 2));
    assert_eq!((totals.segments, totals.most, totals.unseen), (4, 2, 1));
    assert_eq!((totals.docs, totals.deleted, totals.stored), (99, 20, 209));
    assert_eq!((totals.bytes, totals.largest_bytes, totals.left_bytes), (2_240, 1_100, 10));
    assert_eq!((totals.merging, totals.merging_bytes), (1, 100));
}

#[test]
fn segments_that_came_and_went_are_counted() {
    let mut old = moment(0, vec![shard("logs", 0, "a", &[(0, 1, 0, 1), (4, 1, 0, 1)]), shard("logs", 0, "b", &[])]);
    old.activity = Some(MergeActivity { merged: 2, refreshes: 10, ..MergeActivity::default() });
    let mut now = moment(10_000, vec![shard("logs", 0, "a", &[(20, 1, 0, 1)]), shard("logs", 0, "c", &[(9, 1, 0, 1)])]);
    now.activity = Some(MergeActivity { merged: 5, refreshes: 14, ..MergeActivity::default() });
    let mut lately = Lately::default();
    lately.see(&old);
    let since = lately.since(&now).unwrap();
    // The copy on c is new, and does not count.
    assert_eq!((since.copies, since.made, since.merged, since.flushed()), (1, 16, 3, 13));
    assert_eq!((since.refreshes, since.seconds), (4, 10.0));
    // A copy that moved begins to count at 0 again.
    now.activity = Some(MergeActivity::default());
    assert_eq!(lately.since(&now), None);
}

#[test]
fn the_comparison_is_with_a_moment_of_the_last_two_minutes() {
    let mut lately = Lately::default();
    for second in 0..=600 {
        let now = moment(second * 1_000, Vec::new());
        let back = lately.since(&now).map_or(0.0, |since| since.seconds);
        let least = (second as f64).min(60.0);
        assert!((least..=120.0).contains(&back), "{second}: {back}");
        lately.see(&now);
        lately.see(&SegmentsMoment { trouble: Some("away".into()), ..moment(second * 1_000 + 1, Vec::new()) });
    }
}

#[test]
fn refreshes_and_writers_are_told_with_their_effect() {
    let mut now = moment(60_000, vec![shard("logs", 0, "a", &[(400, 1, 0, 1)])]);
    let since =
        Since { seconds: 60.0, copies: 1, made: 260, merged: 20, refreshes: 60, indexed: 9, ..Since::default() };
    let advice = texts(&now, Some(&since));
    let refresh = &advice["refresh_interval"];
    // 60 refreshes would be 2.
    assert!(refresh.contains("About 240 segments") && refresh.contains("would be about 8,"), "{refresh}");
    assert!(refresh.contains("is 1s") && refresh.contains("PUT logs/_settings"), "{refresh}");
    let writers = &advice["writers"];
    assert!(writers.contains("about 4.0 segments") && writers.contains("about 120 segments"), "{writers}");
    // One writer, and an index that is not refreshed by itself.
    now.refresh.insert("logs".into(), "-1".into());
    let advice = texts(&now, Some(&Since { refreshes: 240, ..since }));
    assert!(!advice.contains_key("refresh_interval") && !advice.contains_key("writers"), "{advice:?}");
}

#[test]
fn a_force_merge_is_told_by_what_it_would_write() {
    let merged = moment(0, vec![shard("logs", 0, "a", &[(9, 100, 0, 1 << 30)])]);
    assert_eq!(texts(&merged, None), BTreeMap::new());
    let now = moment(
        0,
        vec![
            shard("logs", 0, "a", &[(0, 75, 25, 1 << 20), (1, 100, 0, 1 << 20)]),
            shard("logs", 1, "a", &[(9, 100, 0, 1 << 20)]),
        ],
    );
    let text = &texts(&now, None)["force_merge"];
    let expected = "POST logs/_forcemerge?max_num_segments=1 would read 2.0 MiB and write about 1.8 MiB; 2 segments become 1, \
                    and up to 25 deleted documents go. It needs up to 2.0 MiB of free disk for the largest copy.";
    assert_eq!(text, expected);
    let busy = Since { indexed: 5, ..Since::default() };
    assert!(texts(&now, Some(&busy))["force_merge"].starts_with("Documents still come in"));
    let large = moment(0, vec![shard("logs", 0, "a", &[(0, 1, 0, 6 << 30), (1, 1, 0, 1)])]);
    assert!(texts(&large, None)["force_merge"].contains("above 5 GiB"));
}

#[test]
fn deletions_left_files_and_throttling_are_told() {
    let mut now = moment(0, vec![shard("logs", 0, "a", &[(0, 80, 20, 1_000), (1, 5, 0, 1_000)])]);
    now.shards[0].segments[1].searchable = false;
    now.absent = 3;
    now.activity = Some(MergeActivity {
        merged: 4,
        merged_bytes: 3_000,
        merge_ms: 10_000,
        merge_throttled_ms: 5_000,
        throttled: true,
        ..MergeActivity::default()
    });
    let advice = texts(&now, None);
    assert!(advice["deleted"].starts_with("20 % of the stored documents (20)"), "{advice:?}");
    assert!(advice["left"].starts_with("1000.0 B on disk"), "{advice:?}");
    assert!(advice["merge_cost"].contains("4 merges wrote 2.9 KiB again in 10 s, 3.0 times"), "{advice:?}");
    assert!(advice["merges_throttled"].contains("50 %"), "{advice:?}");
    assert!(advice["absent"].starts_with("3 of 4"), "{advice:?}");
    assert!(advice.contains_key("indexing_throttled"));
}

#[test]
fn small_segments_are_told_where_no_moment_is_before() {
    let many: Vec<(u64, u64, u64, u64)> = (0..1_200).map(|n| (n, 1, 0, 4_000)).collect();
    let text = &texts(&moment(0, vec![shard("logs", 0, "a", &many)]), None)["small_segments"];
    assert!(text.starts_with("1,200 of 1,200 segments have less than 2 MiB"), "{text}");
}

fn recorded(moments: &[SegmentsMoment]) -> String {
    let mut file = Vec::new();
    let mut recorder = Recorder::new(&mut file, &Header::new("OpenSearch 3.6.0", "http://search:9200/logs")).unwrap();
    for moment in moments {
        recorder.add(moment).unwrap();
    }
    String::from_utf8(file).unwrap()
}

fn played(text: &str) -> Vec<SegmentsMoment> {
    Recording::open(text.as_bytes()).unwrap().map(Result::unwrap).collect()
}

/// A load in moments: segments appear, merge and vanish, a replica moves, the cluster is away.
fn moments() -> Vec<SegmentsMoment> {
    let first = shard("logs", 0, "a", &[(0, 1, 0, 1), (1, 2, 1, 2)]);
    let other = shard("logs", 1, "a", &[(0, 9, 0, 9)]);
    let mut merging = first.clone();
    merging.segments.iter_mut().for_each(|segment| segment.merge = Some("7".into()));
    let one = moment(1, vec![first, shard("logs", 0, "b", &[]), other.clone()]);
    let mut two = moment(2, vec![merging, shard("logs", 0, "c", &[]), other.clone()]);
    (two.absent, two.refresh) = (1, [("logs".to_owned(), "30s".to_owned())].into());
    let away = SegmentsMoment { time: 3, trouble: Some("connection refused".into()), ..two.clone() };
    vec![one, two, away, moment(4, vec![other]), moment(5, Vec::new())]
}

#[test]
fn what_was_recorded_is_played() {
    let text = recorded(&moments());
    assert_eq!(played(&text), moments());
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["inrush"], "segments");
    // A line has what changed alone.
    assert_eq!(lines[2]["shards"].as_array().unwrap().len(), 2);
    assert_eq!(lines[2]["gone"], json!([["logs", 0, "b"]]));
    assert_eq!((&lines[3]["shards"], &lines[3]["trouble"]), (&json!([]), &json!("connection refused")));
}

#[test]
fn a_recording_that_was_cut_off_ends_before_the_cut() {
    let text = recorded(&moments());
    let header = text.find('\n').unwrap() + 1;
    for end in header..text.len() {
        let whole = text[header..end].matches('\n').count();
        let found = played(&text[..end]);
        // A line without its end that is complete counts.
        assert!(found.len() == whole || found.len() == whole + 1, "{end}");
        assert_eq!(found, moments()[..found.len()]);
    }
}

#[test]
fn files_that_are_no_recording_say_so() {
    let open = |text: &str| Recording::open(text.as_bytes()).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(open("").contains("no recording of segments"));
    assert!(open("{\"a\":1}\n").contains("no recording of segments"));
    let newer = recorded(&[]).replace("\"version\":1", "\"version\":2");
    assert!(open(&newer).contains("has version 2"), "{}", open(&newer));
    let changed = recorded(&moments()) + "hello\n";
    let error = Recording::open(changed.as_bytes()).unwrap().find_map(Result::err).unwrap().to_string();
    assert!(error.starts_with("line 7 is no moment"), "{error}");
}

/// The JSON that pages and programs read, as docs/segments.md describes it.
#[test]
fn the_json_of_a_moment_is_that_of_the_documentation() {
    let mut now = moment(1_764_058_623_123, vec![shard("logs", 0, "a", &[(31, 100, 5, 7_000)])]);
    now.shards[0].segments[0].merge = Some("98".into());
    now.activity = None;
    now.refresh.insert("logs".into(), "30s".into());
    let json = json!({"time": 1_764_058_623_123_u64, "shards": [{"index": "logs", "shard": 0, "primary": true, "node": "a",
        "segments": [{"g": 31, "d": 100, "x": 5, "b": 7_000, "m": "98"}]}], "refresh": {"logs": "30s"}});
    assert_eq!(serde_json::to_value(&now).unwrap(), json);
    assert_eq!(serde_json::from_value::<SegmentsMoment>(json).unwrap(), now);
}
