//! SMILE: any bytes are a document or an error. A decoded document is text, which encodes to the
//! same document.
#![no_main]

use inrush_smile::{Decimals, EncodeError, SmileDecoder, SmileEncoder, SmileOptions};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for shared_values in [false, true] {
        let mut encoder = SmileEncoder::new(SmileOptions::default().with_shared_values(shared_values).with_decimals(Decimals::ByValue));
        let mut smile = Vec::new();
        if encoder.encode(data, &mut smile).is_ok() {
            assert!(!smile.contains(&0xFE) && !smile.contains(&0xFF));
            round_trip(shared_values, &smile);
        }
        round_trip(shared_values, data);
    }
});

fn round_trip(shared_values: bool, smile: &[u8]) {
    let mut encoder = SmileEncoder::new(SmileOptions::default().with_shared_values(shared_values).with_decimals(Decimals::ByText));
    let mut json = Vec::new();
    if SmileDecoder::default().decode(smile, &mut json).is_err() {
        return;
    }
    let mut again = Vec::new();
    match encoder.encode(&json, &mut again) {
        Ok(()) => {
            let mut back = Vec::new();
            SmileDecoder::default().decode(&again, &mut back).expect("what was encoded can be decoded");
            assert_eq!(json, back);
        }
        Err(EncodeError::Invalid { at, reason }) => panic!("what was decoded is no JSON at byte {at}: {reason}"),
        // Decimals that only a BigDecimal says, and names that a foreign document has twice.
        Err(_) => {}
    }
}
