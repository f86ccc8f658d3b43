use inrush_commands::segments::{MergeActivity, Segment, advise};

use super::bars::{Paint, bars, histogram};
use super::words::{cut_front, fold};
use super::*;

fn segment(generation: u64, bytes: u64) -> Segment {
    Segment { generation, docs: 100, bytes, searchable: true, committed: true, ..Segment::default() }
}

fn shard(index: &str, number: u32, segments: Vec<Segment>) -> ShardSegments {
    ShardSegments { index: index.into(), shard: number, primary: true, node: "node-1".into(), segments }
}

/// A made-up cluster: 50 indices of 10 shards. Shard 7 of index 13 has the most segments.
fn five_hundred() -> SegmentsMoment {
    let mut moment = SegmentsMoment::default();
    moment.time = 1_764_058_623_000;
    for number in 0..500_u32 {
        let (index, shard_number) = (format!("logs-2026.11.{:02}", number / 10), number % 10);
        let count = if number == 137 { 90 } else { 5 + u64::from(number % 29) };
        let segments = (0..count).map(|n| {
            let mut segment = segment(n, 20_000 << (n * 7 % 17));
            segment.deleted = n * u64::from(number % 3);
            segment.merge = (n % 11 > 7 && number % 5 == 0).then(|| "m".to_owned());
            segment
        });
        moment.shards.push(shard(&index, shard_number, segments.collect()));
    }
    moment.activity = Some(MergeActivity { merges: 12, ..MergeActivity::default() });
    moment
}

fn plain_text(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => while chars.next().is_some_and(|c| c != 'm') {},
            c => out.push(c),
        }
    }
    out
}

fn drawn(moment: &SegmentsMoment, screen: Screen) -> String {
    let header = Header::new("OpenSearch 3.6.0", "http://search:9200/logs-*");
    let advice = advise(moment, None);
    picture(&View { header: &header, moment, since: None, advice: &advice }, screen)
}

#[test]
fn five_hundred_shards_fit_every_terminal() {
    let moment = five_hundred();
    for width in [40, 80, 200] {
        for height in [Some(12), Some(24), Some(60), None] {
            for colours in [false, true] {
                let text = drawn(&moment, Screen { width, height, colours });
                assert_eq!(text.contains('\u{1b}'), colours, "{text}");
                let text = plain_text(&text);
                let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
                assert!(widest <= width, "{width}x{height:?}: {widest}\n{text}");
                let lines = text.lines().count();
                assert!(height.is_none_or(|height| lines <= height), "{width}x{height:?}: {lines}\n{text}");
                assert!(lines <= 110, "{lines}");
            }
        }
    }
}

#[test]
fn the_worst_shard_and_its_index_come_first() {
    let text = drawn(&five_hundred(), Screen { width: 120, height: Some(40), colours: false });
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[1].starts_with("50 indices, 500 shards in 500 copies: 9,"), "{text}");
    let header = lines.iter().position(|line| line.starts_with("shard ")).unwrap();
    assert!(lines[header + 1].contains("10 copies"), "{text}");
    let worst = lines.iter().position(|line| line.starts_with("logs-2026.11.13/7 p")).unwrap();
    assert!(lines[worst - 1].is_empty() && lines[worst].contains(" 90 "), "{text}");
    let others: Vec<&&str> = lines.iter().filter(|line| line.starts_with("… and ")).collect();
    assert!(others[0].contains("more indices") && others[1].contains("more copies with at most 33 segments"), "{text}");
}

#[test]
fn a_few_shards_stay_in_their_order_with_their_deletions() {
    let mut moment = SegmentsMoment::default();
    let mut old = segment(0, 300 << 20);
    old.deleted = 100;
    let mut small = [segment(40, 100), segment(41, 5 << 20)];
    small.iter_mut().for_each(|segment| segment.merge = Some("9".into()));
    let mut unseen = segment(42, 1);
    unseen.searchable = false;
    let [small, larger] = small;
    moment.shards = vec![
        shard("logs", 0, vec![segment(3, 2 << 30)]),
        shard("logs", 1, vec![old, segment(30, 20 << 20), small, larger, unseen]),
    ];
    let text = drawn(&moment, Screen { width: 80, height: Some(24), colours: false });
    let lines: Vec<&str> = text.lines().collect();
    let at = lines.iter().position(|line| line.starts_with("logs/0 p")).unwrap();
    assert_eq!(lines[at], "logs/0 p     1    2.0 GiB   0%  █");
    assert_eq!(lines[at + 1], "logs/1 p     4  325.0 MiB  20%  ▇▅· [▁▄]");
    assert_eq!(lines[at + 2].trim_end(), "                                ▅");
    assert!(text.contains("not searched: 0 segments newer than the last refresh"), "{text}");
    assert!(text.contains("merging now: 0 merges, of 2 segments with 5.0 MiB"), "{text}");
}

#[test]
fn segments_that_do_not_fit_are_counted_and_the_largest_stay() {
    let segments: Vec<Segment> = (0..40).map(|n| segment(n, if n == 20 { 2 << 30 } else { 1_000 })).collect();
    let (bars, below) = bars(&segments, 12, Paint::Plain);
    assert_eq!((bars.as_str(), below), ("█▁▁▁▁▁▁▁ +32", None));
    let mut merging = segments.clone();
    merging.iter_mut().for_each(|segment| segment.merge = Some("1".into()));
    let (bars, _) = super::bars::bars(&merging, 12, Paint::Plain);
    assert_eq!(bars, "[▁▁▁▁▁▁▁▁▁▁…");
    assert_eq!(super::bars::bars(&[], 0, Paint::Plain), (String::new(), None));
    assert_eq!(histogram(segments.iter()), "█1 ▁39");
    assert_eq!(histogram(merging.iter()), "█1 ▁39 [40]");
}

#[test]
fn colours_end_with_their_bars() {
    let mut deleted = segment(1, 1_000);
    deleted.deleted = 900;
    let (bars, below) = bars(&[segment(0, 1_000), deleted], 10, Paint::Colours);
    assert_eq!(bars, "\u{1b}[0m\u{1b}[36m▁\u{1b}[0m\u{1b}[31m▁\u{1b}[0m");
    assert_eq!(below.as_deref(), Some("\u{1b}[31m █\u{1b}[0m"));
}

#[test]
fn a_table_has_a_line_for_each_copy() {
    let (moment, header) = (five_hundred(), Header::new("OpenSearch 3.6.0", "http://search:9200"));
    let view = View { header: &header, moment: &moment, since: None, advice: &[] };
    let text = table(&view, None);
    assert_eq!(text.lines().filter(|line| line.starts_with("logs-")).count(), 500);
    let row: Vec<&str> =
        text.lines().find(|line| line.starts_with("logs-2026.11.13      7")).unwrap().split_whitespace().collect();
    assert_eq!(row[..5], ["logs-2026.11.13", "7", "primary", "node-1", "90"]);
    let heads: Vec<&str> = text.lines().find(|line| line.starts_with("index ")).unwrap().split_whitespace().collect();
    assert_eq!(heads.len(), row.len());
    let text = table(&view, Some(20));
    assert_eq!(text.lines().filter(|line| line.starts_with("logs-")).count(), 20);
    assert!(text.contains("and 480 more copies"), "{text}");
}

#[test]
fn a_cluster_that_is_away_is_told_above_the_old_picture() {
    let mut moment = five_hundred();
    moment.trouble = Some("connection refused\u{1b}[2J".into());
    let text = drawn(&moment, Screen { width: 80, height: Some(24), colours: false });
    assert!(text.lines().nth(1).unwrap().starts_with("no answer, the picture is an older one: connection refused"));
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn text_is_folded_and_cut() {
    assert_eq!(fold("ab cd efg", 5, 2), ["ab cd", "  efg"]);
    assert_eq!(fold("abcdefgh i", 5, 0), ["abcd…", "i"]);
    assert_eq!([cut_front("abcdef", 4), cut_front("abc", 4)], ["…def", "abc"]);
}
