//! The text of Python strings, without a copy.

use pyo3::prelude::*;
use pyo3::types::PyString;

/// The UTF-8 text of a string. The interpreter makes it once and keeps it beside the string.
///
/// # Errors
/// `UnicodeEncodeError`: the string contains a surrogate without its partner.
#[allow(unsafe_code)]
#[inline]
pub(crate) fn utf8<'a>(text: &'a Bound<'_, PyString>) -> PyResult<&'a str> {
    unsafe extern "C" {
        // CPython has exported it since 3.3, and promises it for the stable ABI since 3.10. The
        // crate `pyo3-ffi` leaves it out for modules that also run on 3.9.
        fn PyUnicode_AsUTF8AndSize(
            text: *mut pyo3::ffi::PyObject,
            length: *mut pyo3::ffi::Py_ssize_t,
        ) -> *const std::ffi::c_char;
    }
    let mut length: pyo3::ffi::Py_ssize_t = 0;
    // SAFETY: `text` is a live string, and the thread is attached to the interpreter, because a
    // `Bound` exists only then.
    let bytes = unsafe { PyUnicode_AsUTF8AndSize(text.as_ptr(), &raw mut length) };
    if bytes.is_null() {
        return Err(PyErr::fetch(text.py()));
    }
    // SAFETY: the call has returned that many bytes of UTF-8, which live as long as the string.
    // The length is not negative where there is no error.
    Ok(unsafe { std::str::from_utf8_unchecked(std::slice::from_raw_parts(bytes.cast(), length.cast_unsigned())) })
}
