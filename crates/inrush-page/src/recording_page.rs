//! A recording of segments as a page that plays it.

use crate::self_contained::{SEGMENTS, self_contained};

/// One page of a recording, in the form in which `inrush segments` records: a line of JSON with the
/// header, and a line for each moment. It loads nothing, and sends nothing.
pub fn recording_page(recording: &str) -> String {
    let lines: Vec<&str> = recording.lines().filter(|line| !line.is_empty()).collect();
    self_contained(SEGMENTS, &format!("[{}]", lines.join(",\n")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::self_contained::data_of;

    #[test]
    fn the_lines_of_a_recording_are_a_list() {
        let page = recording_page("{\"target\":\"</script>\"}\n{\"time\":1}\n");
        let data: serde_json::Value = serde_json::from_str(data_of(SEGMENTS, &page).unwrap()).unwrap();
        assert_eq!(data, serde_json::json!([{"target": "</script>"}, {"time": 1}]));
    }
}
