//! Prints what dates are by formats, as the comparison with a server wants it:
//! `lucene-dates opensearch|elasticsearch MAJOR FORMAT...`. Each line of the input is a text; its
//! line of the output has the milliseconds since 1970 by each format, or `-`, with tabs between
//! them, `z` where only a server knows, or `?` for a format that is not known.

use std::io::{BufRead, Write};

use inrush_lucene::{KnownProduct, ServerVersion, read_dates};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let product = match arguments.next().as_deref() {
        Some("opensearch") => KnownProduct::OpenSearch,
        Some("elasticsearch") => KnownProduct::Elasticsearch,
        _ => return Err("the first argument is opensearch or elasticsearch".into()),
    };
    let version = [arguments.next().ok_or("a version")?.parse()?, 0, 0];
    let target = ServerVersion { product, version, lucene: [9, 12, 0] };
    let formats: Vec<_> = arguments.map(|format| read_dates(target, &format)).collect();
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        for (i, format) in formats.iter().enumerate() {
            let tab = if i > 0 { "\t" } else { "" };
            match format.as_ref().map(|format| format(&line)) {
                Some(Ok(Some(millis))) => write!(out, "{tab}{millis}")?,
                Some(Ok(None)) => write!(out, "{tab}-")?,
                Some(Err(())) => write!(out, "{tab}z")?,
                None => write!(out, "{tab}?")?,
            }
        }
        out.write_all(b"\n")?;
    }
    Ok(())
}
