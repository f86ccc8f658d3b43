//! How much a workbook unpacks to, before it is: cells and reading text are held in memory, and a small file can say much.

use std::io::Cursor;

use bytes::Bytes;
use zip::ZipArchive;

/// Refuses a workbook of which what is read for one sheet unpacks to more than `max` bytes. What is no whole zip archive passes.
pub(super) fn check(data: &Bytes, max: u64) -> Result<(), String> {
    let Ok(mut archive) = ZipArchive::new(Cursor::new(data.clone())) else { return Ok(()) };
    // One sheet is read, and all else: what sheets share, styles, names. Any part can be that, as the file itself says which is what: a sheet
    // may be named as a picture is.
    let (mut sheet, mut common) = (0, 0);
    for at in 0..archive.len() {
        let Ok(part) = archive.by_index_raw(at) else { continue };
        // The archive's reader gives no more than is said here.
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
            "unpacks to {found} MiB or more, and {max} MiB are allowed, because a sheet is held in memory; if the file is honest, allow more with option `workbook_bytes`"
        ));
    }
    Ok(())
}

fn mebibytes(bytes: u64) -> u64 {
    bytes.div_ceil(1 << 20)
}
