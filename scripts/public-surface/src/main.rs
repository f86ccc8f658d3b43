//! The public items of a crate, a line each, from the JSON that rustdoc writes.
//! `scripts/docs.sh` compares them with `api/`.
#![allow(clippy::print_stdout)]

use anyhow::{Context, Result};
use public_api::Builder;

fn main() -> Result<()> {
    let file = std::env::args().nth(1).context("usage: public_surface FILE.json")?;
    let surface = Builder::from_rustdoc_json(&file)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
        .with_context(|| format!("{file}: not the JSON of the rustdoc that public-api is made for"))?;
    for item in surface.items() {
        println!("{item}");
    }
    Ok(())
}
