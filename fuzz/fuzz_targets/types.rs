//! Columns of CSV that change their type at any row. No value changes on its way into documents and
//! Parquet, and no type of the mapping contradicts the values. A property test of `sql/decode.rs`
//! checks the documents of queries below DataFusion.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/inrush/tests/it/convert/types.rs"]
mod types;

fuzz_target!(|data: (u8, u8, Vec<(u8, u64, u8)>)| {
    let (rows_of_sample, columns, cells) = data;
    types::check(usize::from(rows_of_sample % 8), usize::from(columns % 4) + 1, &cells);
});
