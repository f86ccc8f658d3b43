//! The JSON of export requests of OTLP 1. Pure.

use serde_json::{Value as Json, json};

use crate::exposition::{Family, Kind, Metrics, Sample, Value};

/// Counters are sums since the start of the process.
const CUMULATIVE: u8 = 2;

/// The request with these metrics (`ExportMetricsServiceRequest`). `times`: the start of the
/// process and now, ns since 1970.
pub(super) fn of(metrics: &Metrics, resource: &[(String, String)], times: (u64, u64)) -> Vec<u8> {
    let families = metrics.0.iter().filter(|family| !family.samples.is_empty());
    let request = json!({
        "resourceMetrics": [{
            "resource": { "attributes": attributes(resource) },
            "scopeMetrics": [{
                "scope": { "name": "inrush", "version": env!("CARGO_PKG_VERSION") },
                "metrics": families.map(|family| metric(family, times)).collect::<Vec<_>>(),
            }],
        }],
    });
    // The value has string keys and finite numbers only.
    serde_json::to_vec(&request).unwrap_or_default()
}

fn metric(family: &Family, times: (u64, u64)) -> Json {
    let name = if family.kind == Kind::Info { format!("{}_info", family.name) } else { family.name.to_owned() };
    let unit = match family.unit {
        "seconds" => "s",
        "bytes" => "By",
        _ => "1",
    };
    let points: Vec<Json> = family.samples.iter().map(|sample| point(sample, times)).collect();
    let mut metric = json!({ "name": name, "unit": unit, "description": family.help });
    let (key, data) = match family.kind {
        Kind::Counter => {
            ("sum", json!({ "dataPoints": points, "aggregationTemporality": CUMULATIVE, "isMonotonic": true }))
        }
        Kind::Histogram => ("histogram", json!({ "dataPoints": points, "aggregationTemporality": CUMULATIVE })),
        Kind::Gauge | Kind::Info | Kind::StateSet => ("gauge", json!({ "dataPoints": points })),
    };
    metric[key] = data;
    metric
}

/// A sample. Numbers of 64 bits are texts in this form of OTLP.
fn point(sample: &Sample, (began, now): (u64, u64)) -> Json {
    let mut point = json!({
        "attributes": attributes(&sample.labels),
        "startTimeUnixNano": began.to_string(),
        "timeUnixNano": now.to_string(),
    });
    match &sample.value {
        Value::Number(number) => point["asDouble"] = json!(number),
        Value::Histogram { buckets, more, sum } => {
            let counts = buckets.iter().map(|(_, number)| number).chain([more]);
            point["count"] = json!(counts.clone().sum::<u64>().to_string());
            point["sum"] = json!(sum);
            point["explicitBounds"] = json!(buckets.iter().map(|(bound, _)| bound).collect::<Vec<_>>());
            point["bucketCounts"] = json!(counts.map(ToString::to_string).collect::<Vec<_>>());
        }
    }
    point
}

fn attributes(pairs: &[(String, String)]) -> Vec<Json> {
    pairs.iter().map(|(key, value)| json!({ "key": key, "value": { "stringValue": value } })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_gauges_and_histograms() {
        let mut metrics = Metrics::default();
        metrics.family("a_bytes", Kind::Counter, "bytes", "Bytes.");
        metrics.sample(&[("load", "x")], 7.0);
        metrics.family("b", Kind::Info, "", "Facts.");
        metrics.info(&[("version", "1")]);
        metrics.family("c_seconds", Kind::Histogram, "seconds", "Times.");
        metrics.histogram(&[("load", "x")], vec![(0.5, 2), (1.0, 3)], 1, 4.25);
        metrics.family("none", Kind::Gauge, "", "Has no sample.");
        let resource = [("service.name".to_owned(), "inrush".to_owned())];
        let request: Json = serde_json::from_slice(&of(&metrics, &resource, (1, 2))).unwrap();
        let all = &request["resourceMetrics"][0];
        let attribute = json!({ "key": "service.name", "value": { "stringValue": "inrush" } });
        assert_eq!(all["resource"]["attributes"], json!([attribute]));
        let metrics = all["scopeMetrics"][0]["metrics"].as_array().unwrap();
        assert_eq!(
            metrics.iter().map(|metric| &metric["name"]).collect::<Vec<_>>(),
            ["a_bytes", "b_info", "c_seconds"]
        );
        let sum = &metrics[0]["sum"];
        assert_eq!((&sum["isMonotonic"], &sum["dataPoints"][0]["asDouble"]), (&json!(true), &json!(7.0)));
        let times = &metrics[2]["histogram"]["dataPoints"][0];
        assert_eq!((&times["count"], &times["bucketCounts"]), (&json!("6"), &json!(["2", "3", "1"])));
        assert_eq!((&times["explicitBounds"], &times["timeUnixNano"]), (&json!([0.5, 1.0]), &json!("2")));
    }
}
