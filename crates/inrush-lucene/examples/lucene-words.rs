//! Prints the tokens of each line of hexadecimal code points, with their places in units of UTF-16,
//! as the comparison with the server's analysers wants it: `lucene-words ANALYZER`.

use std::io::{BufRead, Write};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let analyzer = std::env::args().nth(1).ok_or("an analyser")?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let mut text = String::new();
        for hex in line.split(' ').filter(|hex| !hex.is_empty()) {
            text.push(char::from_u32(u32::from_str_radix(hex, 16)?).ok_or("a surrogate")?);
        }
        let units = |text: &str| text.encode_utf16().count();
        let (mut at, mut at_units) = (0, 0);
        inrush_lucene::analyze(&analyzer, &text, |place, token| {
            let start = at_units + units(&text[at..place.start]);
            let end = start + units(&text[place.clone()]);
            (at, at_units) = (place.end, end);
            let _ = out.write_all(token);
            let _ = write!(out, "\x1e{start}-{end}\x1f");
        })
        .ok_or("no analyser of that name")?;
        writeln!(out, "{}", at_units + units(&text[at..]))?;
    }
    Ok(())
}
