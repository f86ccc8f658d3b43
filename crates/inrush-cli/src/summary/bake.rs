//! The rows about an index that was built outside its cluster.

use inrush_bake::HandOver;

use super::Rows;
use crate::units::seconds;

pub(super) fn rows(bake: &HandOver, rows: &mut Rows) {
    let became = match (bake.handed_over, bake.left.is_empty()) {
        (true, _) => "yes",
        (false, true) => "NO: the target is in its former state",
        (false, false) => "NO",
    };
    rows.add("handed over", format!("{became}; {} was built by {}", bake.index, bake.builder));
    if let Some(why) = &bake.server_because {
        rows.add("engine", format!("a server, because {why}"));
    }
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
        assert!(all.contains("handed over     NO; trips was built by OpenSearch 3.6.0\n"), "{all}");
        assert!(all.contains("engine          a server, because the mapping has a percolator\n"), "{all}");
        assert!(all.contains("bake            restore 0.5 s: trips with 7 documents\n"), "{all}");
        assert!(all.contains("left            the repository r\n"), "{all}");
        report.hand_over.left.clear();
        assert!(text_of_bake(&report).contains("NO: the target is in its former state"));
    }
}
