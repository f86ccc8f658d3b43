use std::sync::Arc;

use inrush_load::Step;
use inrush_sources::Lag;

use super::*;

fn screen(width: usize) -> Screen {
    Screen { width, height: 23, colours: false }
}

/// Two minutes into a load of eight, whose rate doubled on the way.
fn loading() -> (Progress, Seen) {
    let (mut now, mut seen) = (Progress::default(), Seen::default());
    now.phase = Phase::Loading;
    now.bytes_total = Some(4 << 30);
    for second in 0..=120 {
        now.seconds = f64::from(second);
        now.docs_settled += if second < 100 { 50_000 } else { 100_000 };
        (now.docs_read, now.bytes_read) = (now.docs_settled, now.docs_settled * 150);
        seen.see(&now);
    }
    (now.in_flight, now.plan_in_flight, now.plan_batch_bytes) = (7, 8, 2 << 20);
    now.plan_why = Some("8 x 2.0 MiB brought 12 % more bytes a second than 4 x 2.0 MiB".into());
    (now, seen)
}

fn drawn(now: &Progress, seen: &Seen, screen: Screen) -> String {
    picture(now, seen, Duration::from_secs(121), screen).iter().fold(String::new(), |text, row| text + row + "\n")
}

#[test]
fn a_load_in_40_columns() {
    let (now, seen) = loading();
    let expected = "   2:01  loading   24 %     3:36 left
      7,100,000 docs      100,000 docs/s
    7 of 8 in flight           x 2.0 MiB
      0 dead letters           0 retried
▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▆██████████
plan: 8 x 2.0 MiB brought 12 % more byt…
";
    assert_eq!(drawn(&now, &seen, screen(40)), expected);
}

#[test]
fn a_load_in_80_columns() {
    let (now, seen) = loading();
    let expected = "   2:01  loading   24 %     3:36 left
      7,100,000 docs      100,000 docs/s     1015.7 MiB read          14.3 MiB/s
    7 of 8 in flight           x 2.0 MiB      0 dead letters           0 retried
▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▆██████████  up to     100,000 docs/s
plan: 8 x 2.0 MiB brought 12 % more bytes a second than 4 x 2.0 MiB
";
    assert_eq!(drawn(&now, &seen, screen(80)), expected);
}

#[test]
fn a_load_in_200_columns() {
    let (now, seen) = loading();
    let text = drawn(&now, &seen, screen(200));
    let rows: Vec<&str> = text.lines().collect();
    assert_eq!(
        rows[1],
        format!(
            "{}{}",
            &rows[1][..80],
            "    7 of 8 in flight           x 2.0 MiB      0 dead letters           0 retried"
        )
    );
    let graph = format!("{}{}▆{}  up to     100,000 docs/s", " ".repeat(90), "▄".repeat(49), "█".repeat(10));
    assert_eq!((rows[2], rows.len()), (graph.as_str(), 4));
}

#[test]
fn no_row_is_wider_than_the_terminal_and_figures_keep_their_columns() {
    let (mut now, seen) = loading();
    let mut lag = Lag::default();
    (lag.records, lag.seconds) = (1_234_567, Some(3.1));
    now.lag = Some(Arc::new(lag));
    (now.rows_read, now.rows_total) = (Some(1_234_567), Some(2_345_678));
    now.plan_why = Some("a reason ".repeat(40).into());
    for width in (1..=220).chain([1_000]) {
        let rows = picture(&now, &seen, Duration::ZERO, screen(width));
        assert!(rows.iter().all(|row| row.chars().count() <= width), "{width}: {rows:#?}");
        let mut later = now.clone();
        (later.docs_settled, later.in_flight, later.docs_dead_lettered) = (9_999_999, 1, 99);
        let ends = |rows: &[String]| rows[1].chars().count();
        let later = picture(&later, &seen, Duration::from_secs(3_600), screen(width));
        assert_eq!((later.len(), ends(&later)), (rows.len(), ends(&rows)), "{width}");
    }
}

#[test]
fn a_low_terminal_has_the_first_rows() {
    let (now, seen) = loading();
    for (height, rows) in [(0, 1), (1, 1), (2, 2), (24, 5)] {
        let rows_drawn = picture(&now, &seen, Duration::ZERO, Screen { height, ..screen(80) });
        assert_eq!(rows_drawn.len(), rows, "{height}");
    }
}

#[test]
fn phases_have_their_cause_or_step() {
    let (mut now, seen) = (Progress::default(), Seen::default());
    for (phase, expected) in [
        (Phase::Starting, "opening the source and the cluster"),
        (Phase::Loading, "loading"),
        (Phase::Idle, "waiting for the source"),
        (Phase::Paused("index logs is write-blocked\u{1b}[2J".into()), "paused: index logs is write-blocked\\u001b[2J"),
        (Phase::Draining("interrupted".into()), "stopping: interrupted"),
        (Phase::PuttingBack, "putting settings back"),
        (Phase::Refreshing, "refreshing, so that the documents can be counted"),
        (Phase::Verifying, "verifying: counting the documents"),
        (
            Phase::Finishing { step: Step::ForceMerge, detail: "12 of 40 segments".into() },
            "force-merge: 12 of 40 segments",
        ),
        (Phase::Finishing { step: Step::Warm, detail: String::new() }, "warm"),
        (Phase::Baking("builder".into()), "bake: builder"),
        (Phase::Done, "done"),
    ] {
        now.phase = phase;
        assert_eq!(drawn(&now, &seen, screen(80)), format!("   2:01  {expected}\n"));
    }
}

#[test]
fn colours_are_used_where_they_are_welcome_and_take_no_columns() {
    let (mut now, seen) = loading();
    now.phase = Phase::Paused("by hand".into());
    now.docs_dead_lettered = 3;
    let plain = drawn(&now, &seen, screen(80));
    let coloured = drawn(&now, &seen, Screen { colours: true, ..screen(80) });
    assert!(!plain.contains('\x1b') && coloured.contains("\x1b[33m   2:01  paused: by hand\x1b[0m"), "{coloured:?}");
    assert!(coloured.contains("\x1b[31m      3 dead letters\x1b[0m"), "{coloured:?}");
    let mut stripped = coloured.clone();
    ["\x1b[33m", "\x1b[31m", "\x1b[2m", "\x1b[0m"].into_iter().for_each(|code| stripped = stripped.replace(code, ""));
    assert_eq!(stripped, plain);
}
