//! The formats of files of vectors, by their names.

use serde::Serialize;

/// A format of files that have a vector a row, and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum VectorFormat {
    /// An array of NumPy with two dimensions (`npy`).
    Npy,
    /// Rows of float32, the number of them before each row (`fvecs`).
    Fvecs,
    /// The same with bytes from 0 to 255 (`bvecs`).
    Bvecs,
    /// The same with int32 (`ivecs`).
    Ivecs,
    /// The numbers of rows and of a row's float32, and the rows (`fbin`).
    Fbin,
    /// The same with bytes from 0 to 255 (`u8bin`).
    U8bin,
    /// The same with bytes from -128 to 127 (`i8bin`).
    I8bin,
}

impl VectorFormat {
    /// All formats.
    #[doc(hidden)]
    pub const ALL: [VectorFormat; 7] = [
        VectorFormat::Npy,
        VectorFormat::Fvecs,
        VectorFormat::Bvecs,
        VectorFormat::Ivecs,
        VectorFormat::Fbin,
        VectorFormat::U8bin,
        VectorFormat::I8bin,
    ];

    /// The name in options, which is the extension of files.
    pub fn name(self) -> &'static str {
        match self {
            VectorFormat::Npy => "npy",
            VectorFormat::Fvecs => "fvecs",
            VectorFormat::Bvecs => "bvecs",
            VectorFormat::Ivecs => "ivecs",
            VectorFormat::Fbin => "fbin",
            VectorFormat::U8bin => "u8bin",
            VectorFormat::I8bin => "i8bin",
        }
    }

    /// The format of this name.
    pub(crate) fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Whether files begin with a number, which may look like the beginning of any other format.
    pub(crate) fn begins_with_a_number(self) -> bool {
        self != VectorFormat::Npy
    }
}
