//! Limits the unpacked size of a workbook before it is unpacked: cells and shared text are held in
//! memory, and a small file can unpack to a lot.

use std::io::Cursor;

use bytes::Bytes;
use zip::ZipArchive;

/// Refuses a workbook whose parts for one sheet unpack to more than `max` bytes. A file that is not
/// a complete zip archive passes.
pub(super) fn check(data: &Bytes, max: u64) -> Result<(), String> {
    let Ok(mut archive) = ZipArchive::new(Cursor::new(data.clone())) else { return Ok(()) };
    // The reader reads one sheet and all common parts: shared text, styles, names. Any other part
    // may be common, because the file itself says which part is what: a sheet may be named like a
    // picture.
    let (mut sheet, mut common) = (0, 0);
    for at in 0..archive.len() {
        let Ok(part) = archive.by_index_raw(at) else { continue };
        // The reader of the archive returns no more bytes than declared here.
        let bytes = part.size();
        // Parts are looked up in any case and with either slash.
        let is_sheet =
            part.name().is_ok_and(|name| name.replace('\\', "/").to_ascii_lowercase().contains("/worksheets/"));
        if is_sheet {
            sheet = bytes.max(sheet);
        } else {
            common = bytes.saturating_add(common);
        }
    }
    let bytes = sheet.saturating_add(common);
    if bytes > max {
        let (found, max) = (mebibytes(bytes), mebibytes(max));
        return Err(format!(
            "unpacks to {found} MiB or more, but only {max} MiB are allowed, because a sheet is held in memory; if you trust the file, allow more with option `workbook_bytes`"
        ));
    }
    Ok(())
}

fn mebibytes(bytes: u64) -> u64 {
    bytes.div_ceil(1 << 20)
}
