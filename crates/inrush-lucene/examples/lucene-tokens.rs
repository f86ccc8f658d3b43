//! Prints the tokens of texts, as the comparison with a server wants it. Each line of the input is
//! an object: `settings` by full names, `analyzer`, `lucene` (the three numbers of its version) and
//! `texts`. Its line of the output has for each text the tokens with their steps and places, and
//! the end of the text, or nothing if only a server knows them; or `{"refused": …}`.

use std::io::{BufRead, Write};

use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let asked: Value = serde_json::from_str(&line?)?;
        let settings = asked["settings"].as_object().ok_or("settings")?;
        let lucene = serde_json::from_value(asked["lucene"].clone())?;
        let name = asked["analyzer"].as_str().ok_or("analyzer")?;
        let answer = match inrush_lucene::SettingsAnalyzer::read(settings, name, lucene) {
            Err(part) => json!({ "refused": part }),
            Ok(analyzer) => {
                let mut texts = Vec::new();
                for text in asked["texts"].as_array().ok_or("texts")? {
                    let mut tokens = Vec::new();
                    let is_known = analyzer.each(text.as_str().ok_or("a text")?, |(term, step, (start, end))| {
                        tokens.push(json!([term.map(String::from_utf8_lossy), step, start, end]));
                    });
                    texts.push(is_known.then_some(tokens));
                }
                json!(texts)
            }
        };
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}
