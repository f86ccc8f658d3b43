//! The reply parser: any bytes are a reply or an error, and a reply that is cut off is an error.
#![no_main]

use inrush_core::reply::BulkReply;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(reply) = BulkReply::parse(data) {
        assert!(reply.items() <= data.len() as u64);
        let trimmed = data.trim_ascii_end();
        assert!(BulkReply::parse(&trimmed[..trimmed.len() - 1]).is_err());
    }
});
