//! Prints the words of each line of hexadecimal code points, as the comparison with the server's
//! analyser wants it.

use std::io::{BufRead, Write};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let mut text = String::new();
        for hex in line.split(' ').filter(|hex| !hex.is_empty()) {
            text.push(char::from_u32(u32::from_str_radix(hex, 16)?).ok_or("a surrogate")?);
        }
        inrush_lucene::standard_words(&text, |word| {
            let _ = out.write_all(word);
            let _ = out.write_all(b"\x1f");
        });
        out.write_all(b"\n")?;
    }
    Ok(())
}
