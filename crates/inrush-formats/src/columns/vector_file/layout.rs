//! How a file of vectors is laid out, as its header says.

use std::io::Read;

use crate::input::Input;
use crate::vector_format::VectorFormat;

/// The most numbers of a row. A larger number is no length of a vector.
const DIMS_MAX: u64 = 1 << 16;

/// The most bytes of a header of NumPy that are read.
const HEADER_MAX: usize = 1 << 20;

/// The type of the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    F16,
    F32,
    F64,
    I8,
    U8,
    I32,
}

impl Number {
    pub(super) fn bytes(self) -> usize {
        match self {
            Number::I8 | Number::U8 => 1,
            Number::F16 => 2,
            Number::F32 | Number::I32 => 4,
            Number::F64 => 8,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) number: Number,
    pub(super) is_big_endian: bool,
    /// The numbers of a row. 0 only where there are no rows.
    pub(super) dims: usize,
    /// The number of rows, if the header says it.
    pub(super) rows: Option<u64>,
    /// Whether the number of its numbers stands before each row.
    pub(super) has_lengths: bool,
}

impl Layout {
    /// Bytes of a row, with its length.
    pub(super) fn row_bytes(&self) -> usize {
        self.dims * self.number.bytes() + if self.has_lengths { 4 } else { 0 }
    }

    /// Reads the header of a file. The lengths of rows stay in the input.
    pub(super) fn read(format: VectorFormat, input: &mut Input) -> Result<Self, String> {
        match format {
            VectorFormat::Npy => npy(input),
            VectorFormat::Fvecs => of_lengths(Number::F32, input),
            VectorFormat::Bvecs => of_lengths(Number::U8, input),
            VectorFormat::Ivecs => of_lengths(Number::I32, input),
            VectorFormat::Fbin => of_two_numbers(Number::F32, input),
            VectorFormat::U8bin => of_two_numbers(Number::U8, input),
            VectorFormat::I8bin => of_two_numbers(Number::I8, input),
        }
    }
}

/// Checks the numbers of a row.
fn checked(dims: u64) -> Result<usize, String> {
    match dims {
        1..=DIMS_MAX => Ok(dims as usize),
        _ => Err(format!("a row has {dims} numbers by its header, and 1 to {DIMS_MAX} are expected")),
    }
}

fn of_lengths(number: Number, input: &mut Input) -> Result<Layout, String> {
    let dims = match input.peek(4, |_| false) {
        [] => 0,
        [a, b, c, d, ..] => checked(u32::from_le_bytes([*a, *b, *c, *d]).into())?,
        _ => return Err("it is cut off in its first row".to_owned()),
    };
    Ok(Layout { number, is_big_endian: false, dims, rows: None, has_lengths: true })
}

fn of_two_numbers(number: Number, input: &mut Input) -> Result<Layout, String> {
    let [a, b, c, d, e, f, g, h] = bytes(input)?;
    let rows = u32::from_le_bytes([a, b, c, d]);
    let dims = u32::from_le_bytes([e, f, g, h]);
    let dims = if rows == 0 { 0 } else { checked(dims.into())? };
    Ok(Layout { number, is_big_endian: false, dims, rows: Some(rows.into()), has_lengths: false })
}

fn bytes<const N: usize>(input: &mut Input) -> Result<[u8; N], String> {
    let mut bytes = [0; N];
    input.read_exact(&mut bytes).map_err(cut_off)?;
    Ok(bytes)
}

fn cut_off(error: std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => "it is cut off in its header".to_owned(),
        _ => error.to_string(),
    }
}

/// The header of NumPy: a magic number, the version, the length, and a dict of Python as text.
fn npy(input: &mut Input) -> Result<Layout, String> {
    let [magic @ .., major, _minor] = bytes::<8>(input)?;
    if magic != *b"\x93NUMPY" {
        return Err("it does not begin with the magic number of NumPy".to_owned());
    }
    let len = match major {
        1 => u16::from_le_bytes(bytes(input)?).into(),
        2 | 3 => u32::from_le_bytes(bytes(input)?) as usize,
        _ => return Err(format!("its format has version {major}, and 1 to 3 are expected")),
    };
    if len > HEADER_MAX {
        return Err(format!("its header has {len} bytes, and at most {HEADER_MAX} are expected"));
    }
    let mut header = vec![0; len];
    input.read_exact(&mut header).map_err(cut_off)?;
    of_header(&String::from_utf8_lossy(&header))
}

/// The layout that the dict says, such as
/// `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4)}`.
fn of_header(header: &str) -> Result<Layout, String> {
    let unclear =
        || format!("its header is {:?}, without descr, fortran_order and shape of an array", header.trim_end());
    let value = |key: &str| {
        let after = header.split_once(&format!("'{key}'")).or_else(|| header.split_once(&format!("\"{key}\"")));
        after.and_then(|(_, rest)| rest.trim_start().strip_prefix(':')).map(str::trim_start).ok_or_else(unclear)
    };
    let (number, is_big_endian) = number(value("descr")?)?;
    let shape = value("shape")?.strip_prefix('(').and_then(|rest| rest.split_once(')')).ok_or_else(unclear)?.0;
    let shape = shape.split(',').map(str::trim).filter(|len| !len.is_empty());
    // Python 2 writes an L behind long numbers.
    let shape = shape.map(|len| len.trim_end_matches('L').parse::<u64>());
    let shape = shape.collect::<Result<Vec<_>, _>>().map_err(|_| unclear())?;
    let &[rows, dims] = &shape[..] else {
        let dimensions = shape.len();
        return Err(format!(
            "its array has {dimensions} dimensions, and 2 are expected, rows and the numbers of a row; reshape it"
        ));
    };
    let order = value("fortran_order")?;
    if order.starts_with("True") {
        return Err(
            "its numbers stand column by column (Fortran's order), and rows are expected; write it again with \
             numpy.save(FILE, numpy.ascontiguousarray(ARRAY))"
                .to_owned(),
        );
    }
    if !order.starts_with("False") {
        return Err(unclear());
    }
    let dims = if rows == 0 { 0 } else { checked(dims)? };
    Ok(Layout { number, is_big_endian, dims, rows: Some(rows), has_lengths: false })
}

/// The type of a description such as `'<f4'`, and whether it is big-endian.
fn number(descr: &str) -> Result<(Number, bool), String> {
    let text = descr.strip_prefix(['\'', '"']).and_then(|rest| rest.split(['\'', '"']).next());
    let number = text.and_then(|text| {
        let (order, kind) = text.split_at_checked(1)?;
        let number = match kind {
            "f2" => Number::F16,
            "f4" => Number::F32,
            "f8" => Number::F64,
            "i1" => Number::I8,
            "u1" => Number::U8,
            _ => return None,
        };
        matches!(order, "<" | ">" | "|" | "=").then_some((number, order == ">"))
    });
    number.ok_or_else(|| {
        let found = text.unwrap_or("several fields");
        format!(
            "the type of its numbers is {found}, and float16, float32, float64, int8 or uint8 are expected; write it \
             again with ARRAY.astype(numpy.float32)"
        )
    })
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn header(text: &str) -> Result<Layout, String> {
        of_header(text)
    }

    #[test]
    fn headers_of_numpy_are_read() {
        for (descr, number, is_big_endian) in [
            ("'<f2'", Number::F16, false),
            ("'<f4'", Number::F32, false),
            ("'>f4'", Number::F32, true),
            ("\"<f8\"", Number::F64, false),
            ("'|i1'", Number::I8, false),
            ("'|u1'", Number::U8, false),
        ] {
            let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (3, 4), }}   \n");
            let expected = Layout { number, is_big_endian, dims: 4, rows: Some(3), has_lengths: false };
            assert_eq!(header(&text), Ok(expected), "{text}");
        }
        let other = "{\"shape\":(3L,4L),\"fortran_order\":False,\"descr\":\"<f4\"}";
        assert_eq!(header(other).map(|layout| layout.rows), Ok(Some(3)));
        let empty = "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4), }";
        assert_eq!(header(empty).map(|layout| (layout.rows, layout.dims)), Ok((Some(0), 0)));
    }

    #[test]
    fn other_arrays_are_refused_by_name() {
        let of = |descr: &str, order: &str, shape: &str| {
            header(&format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}")).unwrap_err()
        };
        for (descr, order, shape, expected) in [
            ("'<i8'", "False", "(3, 4)", "the type of its numbers is <i8, and float16"),
            ("'|O'", "False", "(3, 4)", "the type of its numbers is |O"),
            ("'é'", "False", "(3, 4)", "the type of its numbers is é"),
            ("[('a', '<f4')]", "False", "(3, 4)", "the type of its numbers is several fields"),
            ("'<f4'", "True", "(3, 4)", "Fortran's order"),
            ("'<f4'", "Maybe", "(3, 4)", "without descr, fortran_order and shape"),
            ("'<f4'", "False", "(3,)", "has 1 dimensions"),
            ("'<f4'", "False", "()", "has 0 dimensions"),
            ("'<f4'", "False", "(3, 4, 5)", "has 3 dimensions"),
            ("'<f4'", "False", "(3, -4)", "without descr"),
            ("'<f4'", "False", "(3, 0)", "a row has 0 numbers"),
            ("'<f4'", "False", "(3, 99999)", "1 to 65536 are expected"),
        ] {
            let told = of(descr, order, shape);
            assert!(told.contains(expected), "{told}");
        }
        assert!(header("").unwrap_err().contains("without descr"));
    }

    #[test]
    fn a_header_that_is_none_is_refused() {
        let read = |format, bytes: &[u8]| Layout::read(format, &mut Input::new(Cursor::new(bytes.to_vec())));
        let refused = |format, bytes: &[u8]| read(format, bytes).unwrap_err();
        assert!(refused(VectorFormat::Npy, b"").contains("cut off in its header"));
        assert!(refused(VectorFormat::Npy, b"{\"a\":1}\n").contains("magic number of NumPy"));
        assert!(refused(VectorFormat::Npy, b"\x93NUMPY\x04\0\0\0").contains("version 4"));
        assert!(refused(VectorFormat::Npy, b"\x93NUMPY\x01\0\x10\0{'des").contains("cut off in its header"));
        assert!(refused(VectorFormat::Npy, b"\x93NUMPY\x02\0\xFF\xFF\xFF\xFF").contains("at most 1048576"));
        assert!(refused(VectorFormat::Fbin, b"\x01\0\0\0").contains("cut off in its header"));
        assert!(refused(VectorFormat::Fbin, b"\x01\0\0\0\0\0\0\0").contains("a row has 0 numbers"));
        assert!(refused(VectorFormat::Fvecs, b"{\"a\":1}\n").contains("1 to 65536 are expected"));
        assert!(refused(VectorFormat::Fvecs, b"\0\0\0\0").contains("a row has 0 numbers"));
        assert!(refused(VectorFormat::Bvecs, b"\x01\0").contains("cut off in its first row"));
        assert_eq!(read(VectorFormat::Ivecs, b"").map(|layout| layout.dims), Ok(0));
        assert_eq!(read(VectorFormat::I8bin, &[0; 8]).map(|layout| layout.rows), Ok(Some(0)));
    }
}
