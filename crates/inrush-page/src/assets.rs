//! The files of the page. There is no build step: the script is its parts, one after the other.

/// The page of a running load. It loads `/page.css` and `/page.js`.
pub(crate) const PAGE: &str = include_str!("../assets/index.html");

/// `/page.css`.
pub(crate) const STYLE: &str = include_str!("../assets/page.css");

/// `/page.js`. The parts share one scope; the last one begins to show the page.
pub(crate) const SCRIPT: &str = concat!(
    "(() => {\n\"use strict\";\n",
    include_str!("../assets/js/format.js"),
    include_str!("../assets/js/dom.js"),
    include_str!("../assets/js/state.js"),
    include_str!("../assets/js/chart.js"),
    include_str!("../assets/js/timeline.js"),
    include_str!("../assets/js/charts.js"),
    include_str!("../assets/js/panels.js"),
    include_str!("../assets/js/result.js"),
    include_str!("../assets/js/head.js"),
    include_str!("../assets/js/segments.js"),
    include_str!("../assets/js/sweep.js"),
    include_str!("../assets/js/verify.js"),
    include_str!("../assets/js/live.js"),
    include_str!("../assets/js/report.js"),
    include_str!("../assets/js/main.js"),
    "})();\n"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_asks_no_other_address() {
        for (name, text) in [("index.html", PAGE), ("page.css", STYLE), ("page.js", SCRIPT)] {
            // Its only address is the name of a format.
            let text = text.replace("http://www.w3.org/2000/svg", "");
            assert!(!text.contains("http:") && !text.contains("https:") && !text.contains("//www"), "{name}");
        }
    }

    #[test]
    fn the_page_makes_no_markup_of_data_and_has_no_inline_code() {
        for banned in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"] {
            assert!(!SCRIPT.contains(banned), "{banned}");
        }
        for banned in ["style=", "onclick", "onload", "<script>", "<style"] {
            assert!(!PAGE.contains(banned), "{banned}");
        }
    }
}
