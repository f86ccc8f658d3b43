//! The headers of a record.

use std::borrow::Cow;
use std::ffi::CStr;
use std::ptr;

use rdkafka::bindings::{rd_kafka_header_get_all, rd_kafka_message_headers};
use rdkafka::message::BorrowedMessage;
use rdkafka::types::RDKafkaRespErr;

/// Name and value of a header.
pub(crate) type Header<'a> = (Cow<'a, str>, Option<&'a [u8]>);

/// The headers of a record. In a name that is not UTF-8, U+FFFD stands for the other bytes.
#[expect(unsafe_code, reason = "rdkafka's `Headers` panics at a name that is not UTF-8")]
pub(crate) fn headers<'a>(message: &'a BorrowedMessage<'_>) -> Vec<Header<'a>> {
    let is_found = |code| code == RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR;
    let (mut headers, mut list) = (Vec::new(), ptr::null_mut());
    // SAFETY: the message lives longer than the call.
    if !is_found(unsafe { rd_kafka_message_headers(message.ptr(), &mut list) }) {
        return headers;
    }
    loop {
        let (mut name, mut value, mut size) = (ptr::null(), ptr::null(), 0);
        // SAFETY: the list was found above and belongs to the message.
        let code = unsafe { rd_kafka_header_get_all(list, headers.len(), &mut name, &mut value, &mut size) };
        if !is_found(code) {
            return headers;
        }
        // SAFETY: the name ends with a zero byte, and a value that is not null has `size` bytes.
        // Both belong to the message, and live as long as it is borrowed.
        headers.push(unsafe {
            let value = (!value.is_null()).then(|| std::slice::from_raw_parts(value.cast::<u8>(), size));
            (CStr::from_ptr(name).to_string_lossy(), value)
        });
    }
}
