//! The rows about an index that was built outside its cluster.

use inrush_bake::HandOver;

use super::Rows;
use crate::units::seconds;

pub(super) fn rows(bake: &HandOver, rows: &mut Rows) {
    let became = match (bake.handed_over, bake.left.is_empty()) {
        (true, _) => format!("yes: {}", bake.index),
        (false, true) => format!("NO: the target is in its former state, without {}", bake.index),
        (false, false) => format!("NO: {}", bake.index),
    };
    rows.add("handed over", became);
    // The first warning has the reason, if the options left the choice.
    rows.add("engine", &bake.builder);
    for (at, step) in bake.steps.iter().enumerate() {
        let name = if at == 0 { "bake" } else { "" };
        rows.add(name, format!("{} {}: {}", step.step.name(), seconds(step.seconds), step.detail));
    }
    for left in &bake.left {
        rows.add("left", left);
    }
}

#[cfg(test)]
mod tests {
    use inrush_bake::{BakeReport, BakeStep, BakeStepName, Engine, HandOver};
    use inrush_load::Status;

    use super::super::tests::report;
    use super::super::text_of_bake;

    #[test]
    fn what_is_left_on_the_target_is_told() {
        let hand_over = HandOver {
            index: "trips".into(),
            builder: "OpenSearch 3.6.0".into(),
            engine: Engine::Server,
            server_because: Some("the mapping has a percolator".into()),
            steps: vec![BakeStep {
                step: BakeStepName::Restore,
                seconds: 0.5,
                detail: "trips with 7 documents".into(),
            }],
            handed_over: false,
            left: vec!["the repository r".into()],
        };
        let mut report = BakeReport { load: report(Status::Failed), hand_over };
        let all = text_of_bake(&report);
        assert!(
            all.starts_with("result          the bake failed\n") && all.contains("fix the cause, then bake again\n"),
            "{all}"
        );
        assert!(all.contains("handed over     NO: trips\n"), "{all}");
        assert!(all.contains("engine          OpenSearch 3.6.0\n") && all.contains("plan   "), "{all}");
        assert!(all.contains("bake            restore 0.5 s: trips with 7 documents\n"), "{all}");
        assert!(all.contains("left            the repository r\n"), "{all}");
        report.hand_over.left.clear();
        assert!(text_of_bake(&report).contains("NO: the target is in its former state, without trips\n"));
        // This process sends no requests, so it has no plan of them.
        report.hand_over.engine = Engine::Native;
        let all = text_of_bake(&report);
        assert!(all.contains("bytes read  ") && all.contains("verified  "), "{all}");
        assert!(!["bytes sent", "plan", "sent as"].iter().any(|row| all.contains(&format!("\n{row} "))), "{all}");
    }
}
