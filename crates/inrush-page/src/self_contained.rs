//! Pages that have their data in themselves.

use crate::assets::{SCRIPT, STYLE};

/// The data of [`report_page`](crate::report_page).
pub(crate) const RUNS: &str = "inrush-runs";
/// The data of [`recording_page`](crate::recording_page).
pub(crate) const SEGMENTS: &str = "inrush-segments";
/// The data of [`sweep_page`](crate::sweep_page).
pub(crate) const SWEEP: &str = "inrush-sweep";

const END: &str = "</script>";

fn begin(id: &str) -> String {
    format!("<script type=\"application/json\" id=\"{id}\">")
}

/// One file with style, script and data. It loads nothing, and sends nothing: its policy says so.
pub(crate) fn self_contained(id: &str, json: &str) -> String {
    // A document with `</script>` in it must not end the element.
    let data = json.replace('<', "\\u003c");
    let begin = begin(id);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; \
         style-src 'unsafe-inline'; img-src data:\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>inrush</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <noscript><p>This page needs JavaScript. Its figures are the JSON at its end.</p></noscript>\n\
         {begin}{data}{END}\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n"
    )
}

/// The data of such a page.
pub(crate) fn data_of<'a>(id: &str, page: &'a str) -> Option<&'a str> {
    let (_, rest) = page.split_once(begin(id).as_str())?;
    Some(rest.split_once(END).map_or(rest, |(data, _)| data))
}
