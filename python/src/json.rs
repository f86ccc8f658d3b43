//! Converts Python objects to JSON text. Values that `json.dumps` accepts get the same text, except
//! NaN and infinity, which JSON does not have: a field with such a value is left out, and in a list
//! it is null.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use inrush_sources::push_escaped;
use pyo3::exceptions::{PyException, PyRecursionError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple, PyType};

use crate::text::utf8;

/// The deepest nesting of objects and lists. The servers' own limit is lower.
const DEPTH_MAX: usize = 500;

/// Why an object is not a document.
pub(crate) enum Problem {
    /// It contains a value that JSON cannot represent: its place, and its type.
    Value { path: String, what: String },
    /// Python code raised an exception that is not about this document.
    Raised(PyErr),
}

impl Problem {
    fn value(what: impl Into<String>) -> Self {
        Problem::Value { path: String::new(), what: what.into() }
    }

    /// The problem with a path from one level further out.
    fn within(self, step: impl FnOnce() -> String) -> Self {
        match self {
            Problem::Value { path, what } => {
                let dot = if path.is_empty() || path.starts_with('[') { "" } else { "." };
                Problem::Value { path: step() + dot + &path, what }
            }
            raised => raised,
        }
    }

    /// The problem in words.
    pub(crate) fn reason(path: &str, what: &str) -> String {
        let place = if path.is_empty() { "the document".to_owned() } else { format!("field {path}") };
        format!(
            "{place} is {what}, which JSON cannot represent; expected a value that json.dumps accepts, a date or time, Decimal, UUID, bytes or a numpy value"
        )
    }
}

impl From<PyErr> for Problem {
    fn from(error: PyErr) -> Self {
        Python::attach(|py| {
            // KeyboardInterrupt and similar exceptions are not about the document.
            if error.is_instance_of::<PyException>(py) {
                Problem::value(format!("a value that cannot be read ({error})"))
            } else {
                Problem::Raised(error)
            }
        })
    }
}

/// The supported classes that are not built in.
struct Classes {
    decimal: Py<PyType>,
    date: Py<PyType>,
    time: Py<PyType>,
    uuid: Py<PyType>,
}

static CLASSES: PyOnceLock<Classes> = PyOnceLock::new();

fn classes(py: Python<'_>) -> PyResult<&Classes> {
    CLASSES.get_or_try_init(py, || {
        let class = |module: &str, name: &str| -> PyResult<Py<PyType>> {
            Ok(py.import(module)?.getattr(name)?.cast_into::<PyType>()?.unbind())
        };
        Ok(Classes {
            decimal: class("decimal", "Decimal")?,
            date: class("datetime", "date")?,
            time: class("datetime", "time")?,
            uuid: class("uuid", "UUID")?,
        })
    })
}

/// Writes documents.
#[derive(Default)]
pub(crate) struct Writer {
    /// The text so far.
    pub(crate) out: Vec<u8>,
    /// The number of values left out because they are not finite.
    pub(crate) not_finite: u64,
}

impl Writer {
    /// Writes a mapping as the only document of [`Writer::out`].
    pub(crate) fn document(&mut self, value: &Bound<'_, PyAny>) -> Result<(), Problem> {
        self.out.clear();
        if let Ok(dict) = value.cast::<PyDict>() {
            return self.object(dict, 0);
        }
        if let Ok(mapping) = value.cast::<PyMapping>() {
            let dict = PyDict::new(value.py());
            dict.update(mapping)?;
            return self.object(&dict, 0);
        }
        Err(Problem::value(format!("of type {}", type_name(value))))
    }

    /// False if nothing was written, because the value is absent.
    #[inline]
    fn value(&mut self, value: &Bound<'_, PyAny>, depth: usize) -> Result<bool, Problem> {
        if let Ok(text) = value.cast_exact::<PyString>() {
            self.text(text)?;
        } else if let Ok(number) = value.cast_exact::<PyInt>() {
            self.int(number)?;
        } else if let Ok(number) = value.cast_exact::<PyFloat>() {
            return Ok(self.float(number.value()));
        } else if value.is_none() {
            self.out.extend_from_slice(b"null");
        } else if let Ok(on) = value.cast_exact::<PyBool>() {
            self.out.extend_from_slice(if on.is_true() { b"true" } else { b"false" });
        } else if let Ok(dict) = value.cast_exact::<PyDict>() {
            self.object(dict, depth)?;
        } else if let Ok(list) = value.cast_exact::<PyList>() {
            self.array(list.iter(), depth)?;
        } else {
            return self.other(value, depth);
        }
        Ok(true)
    }

    fn object(&mut self, dict: &Bound<'_, PyDict>, depth: usize) -> Result<(), Problem> {
        check_depth(depth)?;
        self.out.push(b'{');
        for (key, value) in dict.iter() {
            let before = self.out.len();
            self.out.push(b'"');
            self.key(&key)?;
            self.out.extend_from_slice(b"\":");
            let written = self.value(&value, depth + 1).map_err(|problem| problem.within(|| key.to_string()))?;
            if written {
                self.out.push(b',');
            } else {
                self.out.truncate(before);
            }
        }
        self.close(b'{', b'}');
        Ok(())
    }

    fn array<'py>(&mut self, items: impl Iterator<Item = Bound<'py, PyAny>>, depth: usize) -> Result<(), Problem> {
        check_depth(depth)?;
        self.out.push(b'[');
        for (at, item) in items.enumerate() {
            if !self.value(&item, depth + 1).map_err(|problem| problem.within(|| format!("[{at}]")))? {
                self.out.extend_from_slice(b"null");
            }
            self.out.push(b',');
        }
        self.close(b'[', b']');
        Ok(())
    }

    /// Replaces the last comma by the closing bracket.
    fn close(&mut self, open: u8, close: u8) {
        if self.out.last() == Some(&open) {
            self.out.push(close);
        } else if let Some(last) = self.out.last_mut() {
            *last = close;
        }
    }

    fn key(&mut self, key: &Bound<'_, PyAny>) -> Result<(), Problem> {
        if let Ok(text) = key.cast::<PyString>() {
            push_escaped(&mut self.out, utf8(text)?.as_bytes());
        } else if let Ok(on) = key.cast::<PyBool>() {
            self.out.extend_from_slice(if on.is_true() { b"true" } else { b"false" });
        } else if key.is_none() {
            self.out.extend_from_slice(b"null");
        } else if key.cast::<PyInt>().is_ok() || key.cast::<PyFloat>().is_ok() {
            push_escaped(&mut self.out, utf8(&key.str()?)?.as_bytes());
        } else {
            return Err(Problem::value(format!("an object with a key of type {}", type_name(key))));
        }
        Ok(())
    }

    fn text(&mut self, text: &Bound<'_, PyString>) -> Result<(), Problem> {
        let text = utf8(text)?;
        self.out.push(b'"');
        push_escaped(&mut self.out, text.as_bytes());
        self.out.push(b'"');
        Ok(())
    }

    fn int(&mut self, number: &Bound<'_, PyInt>) -> Result<(), Problem> {
        match number.extract::<i64>() {
            Ok(small) => self.out.extend_from_slice(itoa::Buffer::new().format(small).as_bytes()),
            // Any number of digits. A subclass such as IntEnum has the text of its number, not its
            // name.
            Err(_) => {
                let digits = number.call_method1("__format__", ("d",))?;
                self.out.extend_from_slice(utf8(digits.cast::<PyString>().map_err(PyErr::from)?)?.as_bytes());
            }
        }
        Ok(())
    }

    fn float(&mut self, number: f64) -> bool {
        if number.is_finite() {
            self.out.extend_from_slice(zmij::Buffer::new().format_finite(number).as_bytes());
        } else {
            self.not_finite += 1;
        }
        number.is_finite()
    }

    /// Writes subclasses of the types above, and types that are not built in.
    #[cold]
    fn other(&mut self, value: &Bound<'_, PyAny>, depth: usize) -> Result<bool, Problem> {
        let py = value.py();
        if let Ok(text) = value.cast::<PyString>() {
            self.text(text)?;
        } else if let Ok(number) = value.cast::<PyInt>() {
            self.int(number)?;
        } else if let Ok(number) = value.cast::<PyFloat>() {
            return Ok(self.float(number.value()));
        } else if let Ok(dict) = value.cast::<PyDict>() {
            self.object(dict, depth)?;
        } else if let Ok(list) = value.cast::<PyList>() {
            self.array(list.iter(), depth)?;
        } else if let Ok(tuple) = value.cast::<PyTuple>() {
            self.array(tuple.iter(), depth)?;
        } else if let Ok(bytes) = value.cast::<PyBytes>() {
            self.base64(bytes.as_bytes());
        } else if let Ok(bytes) = value.cast::<PyByteArray>() {
            self.base64(&bytes.to_vec());
        } else {
            let known = classes(py)?;
            if value.is_instance(known.date.bind(py))? || value.is_instance(known.time.bind(py))? {
                return self.iso(&value.call_method0("isoformat")?);
            } else if value.is_instance(known.decimal.bind(py))? {
                let text = value.str()?;
                if !value.call_method0("is_finite")?.extract::<bool>()? {
                    self.not_finite += 1;
                    return Ok(false);
                }
                self.out.extend_from_slice(utf8(&text)?.as_bytes());
            } else if value.is_instance(known.uuid.bind(py))? {
                self.text(&value.str()?)?;
            } else {
                return self.foreign(value, depth);
            }
        }
        Ok(true)
    }

    /// Writes values of numpy and pandas, which are recognised by the module of their class, so
    /// that neither has to be installed.
    fn foreign(&mut self, value: &Bound<'_, PyAny>, depth: usize) -> Result<bool, Problem> {
        let class = value.get_type();
        let module = class.module().map(|module| module.to_string()).unwrap_or_default();
        let of = |package: &str| module.split('.').next() == Some(package);
        if of("numpy") || of("pandas") {
            let name = type_name(value);
            if name == "NAType" {
                self.out.extend_from_slice(b"null");
                return Ok(true);
            }
            if name == "datetime64" {
                return self.iso(&value.str()?.into_any());
            }
            if value.hasattr("tolist")? {
                check_depth(depth)?;
                return self.value(&value.call_method0("tolist")?, depth + 1);
            }
        }
        Err(Problem::value(format!("of type {}", type_name(value))))
    }

    /// Writes a date or time as text. `NaT` is null.
    fn iso(&mut self, text: &Bound<'_, PyAny>) -> Result<bool, Problem> {
        let text = text.cast::<PyString>().map_err(PyErr::from)?;
        if utf8(text)? == "NaT" {
            self.out.extend_from_slice(b"null");
        } else {
            self.text(text)?;
        }
        Ok(true)
    }

    fn base64(&mut self, bytes: &[u8]) {
        self.out.push(b'"');
        self.out.extend_from_slice(STANDARD.encode(bytes).as_bytes());
        self.out.push(b'"');
    }
}

fn check_depth(depth: usize) -> Result<(), Problem> {
    if depth < DEPTH_MAX {
        return Ok(());
    }
    Err(PyRecursionError::new_err(format!("nested more than {DEPTH_MAX} deep, or a part of itself")).into())
}

fn type_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string())
}
