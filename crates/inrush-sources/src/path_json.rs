//! Paths in JSON: as text, or as `{"bytes": [255, 46, …]}` where the path is not UTF-8.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Form<T, B> {
    Text(T),
    Bytes { bytes: B },
}

/// Serializes a path. For `#[serde(with)]`.
pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    match path.to_str() {
        Some(text) => Form::Text(text),
        None => Form::Bytes { bytes: path.as_os_str().as_bytes() },
    }
    .serialize(serializer)
}

/// Deserializes a path. For `#[serde(with)]`.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    Ok(match Form::<String, Vec<u8>>::deserialize(deserializer)? {
        Form::Text(text) => PathBuf::from(text),
        Form::Bytes { bytes } => PathBuf::from(OsString::from_vec(bytes)),
    })
}

/// Serializes a path as text for people and reports, also where it is not UTF-8.
pub fn shown<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    path.as_deref().map(crate::shown_path).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_comes_back() {
        #[derive(Serialize, Deserialize)]
        struct Saved(#[serde(with = "super")] PathBuf);
        for bytes in [&b"/a/b.ndjson"[..], b"/a/\xFF\xFE.ndjson", b""] {
            let path = PathBuf::from(OsString::from_vec(bytes.to_vec()));
            let text = serde_json::to_string(&Saved(path.clone())).unwrap();
            assert_eq!(serde_json::from_str::<Saved>(&text).unwrap().0, path, "{text}");
        }
        assert_eq!(serde_json::to_string(&Saved("/a".into())).unwrap(), "\"/a\"");
    }
}
