//! Contents that are not the data that a name promises: archives, pictures, pages of web servers,
//! errors of object stores, pointers to files that were not fetched.

use super::compression::Codec;

/// The first bytes of a Parquet file whose footer is encrypted.
pub(crate) const ENCRYPTED_PARQUET: &[u8] = b"PARE";

const UNPACK: &str = "unpack it, and load the folder with its files";
const DECOMPRESS: &str = "decompress it first";
const CONVERT: &str = "convert the file to NDJSON or CSV";

/// A kind of binary file that cannot be read.
struct Magic {
    /// The first bytes.
    bytes: &'static [u8],
    /// Whether they could begin a text. Text has no control characters below 9.
    like_text: bool,
    name: &'static str,
    remedy: &'static str,
}

const fn magic(bytes: &'static [u8], name: &'static str, remedy: &'static str) -> Magic {
    Magic { bytes, like_text: false, name, remedy }
}

const fn letters(bytes: &'static [u8], name: &'static str, remedy: &'static str) -> Magic {
    Magic { bytes, like_text: true, name, remedy }
}

const MAGICS: [Magic; 28] = [
    letters(ENCRYPTED_PARQUET, "encrypted Parquet", "decrypt it first, or convert it to NDJSON or CSV"),
    letters(b"ORC", "ORC", CONVERT),
    letters(b"PK\x03\x04", "a zip archive", UNPACK),
    magic(b"PK\x05\x06", "an empty zip archive", UNPACK),
    magic(b"\x04\x22\x4D\x18", "lz4", DECOMPRESS),
    magic(b"\x1F\x9D", "compress (.Z)", DECOMPRESS),
    letters(b"SQLite format 3\0", "SQLite", "write it as sqlite://PATH, and name a table with option `db_table`"),
    magic(b"7z\xBC\xAF\x27\x1C", "a 7z archive", UNPACK),
    magic(b"Rar!\x1A\x07", "a rar archive", UNPACK),
    letters(b"LZIP", "lzip", DECOMPRESS),
    magic(b"\xFF\x06\0\0sNaPpY", "snappy", DECOMPRESS),
    magic(b"\x89LZO\0", "lzop", DECOMPRESS),
    magic(b"\x89PNG\r\n", "a picture (PNG)", CONVERT),
    magic(b"\xFF\xD8\xFF", "a picture (JPEG)", CONVERT),
    letters(b"GIF8", "a picture (GIF)", CONVERT),
    magic(b"%PDF-", "PDF", CONVERT),
    magic(b"{\\rtf", "RTF", CONVERT),
    magic(b"\x89HDF\r\n", "HDF5", CONVERT),
    magic(b"CDF\x01", "NetCDF", CONVERT),
    magic(b"\x93NUMPY", "an array of NumPy", "give option `format=npy`"),
    magic(b"\x80\x04\x95", "a pickle of Python", CONVERT),
    magic(b"\x80\x05\x95", "a pickle of Python", CONVERT),
    letters(b"SEQ\x06", "a SequenceFile of Hadoop", CONVERT),
    letters(b"RCF\x01", "an RCFile of Hive", CONVERT),
    letters(b"PGDMP", "a dump of pg_dump", "restore it, and load the tables of the database"),
    letters(b"$FL2", "SPSS", CONVERT),
    magic(b"\0\x01\0\0Standard ", "an Access database", CONVERT),
    magic(b"\0asm", "a program", CONVERT),
];

/// Why a file that begins with `head` is no data, and what to do; `None` if it may be data. Checks
/// the magic numbers of binary formats.
pub(crate) fn binary(head: &[u8]) -> Option<String> {
    let controls = head.iter().any(|&byte| byte < 9);
    // The name of the archive's first file comes before it.
    if controls && head.get(257..262) == Some(b"ustar") {
        return Some(format!("contents are a tar archive; {UNPACK}"));
    }
    if let Some(codec) = Codec::detect(head) {
        let name = codec.name();
        return Some(format!("contents are compressed with {name} inside of another compression; {DECOMPRESS}"));
    }
    let found = MAGICS.iter().find(|magic| head.starts_with(magic.bytes) && (controls || !magic.like_text))?;
    let Magic { name, remedy, .. } = found;
    Some(format!("contents are {name}; {remedy}"))
}

/// The same for text that other programs write in place of data. `lines` says that any text is
/// data, because each of its lines is a document.
pub(crate) fn text(head: &[u8], lines: bool) -> Option<String> {
    if let Some(pointer) = pointer(head) {
        return Some(pointer);
    }
    let root = markup(head)?;
    let name = root.name.to_ascii_lowercase();
    let as_text = "; to load its lines as they are, give option `format=text`";
    let as_text = if lines { as_text } else { "" };
    if name == b"error" && element(root.rest, b"Code").is_some() {
        let said = [element(root.rest, b"Code"), element(root.rest, b"Message")];
        let said: Vec<_> = said.into_iter().flatten().collect();
        let said = said.join(": ");
        return Some(format!(
            "contents are an error of an object store, and not data: {said}; check the address, and whether the file is there and may be read{as_text}"
        ));
    }
    if name == b"listbucketresult" {
        return Some(format!(
            "contents are the list of a bucket, and not data; give the address of a file, or of the folder as in s3://bucket/folder/{as_text}"
        ));
    }
    let is_page = HTML.contains(&&name[..]) || root.is_html;
    let is_fragment = !lines && HTML_PARTS.contains(&&name[..]);
    if is_page || is_fragment {
        let title = element(root.rest, b"title").map(|title| format!(" with the title {title:?}"));
        let title = title.unwrap_or_default();
        return Some(format!(
            "contents are an HTML page{title}, and not data, such as a page for login or of an error; check the address or the program that wrote the file{as_text}"
        ));
    }
    (!lines && root.is_xml).then(|| format!("contents are XML, which cannot be read; {CONVERT}"))
}

/// Elements that begin an HTML page, and parts of one: error messages of PHP begin with `<br />`.
const HTML: [&[u8]; 4] = [b"html", b"head", b"body", b"frameset"];
const HTML_PARTS: [&[u8]; 15] = [
    b"title",
    b"meta",
    b"script",
    b"style",
    b"link",
    b"div",
    b"pre",
    b"br",
    b"b",
    b"h1",
    b"h2",
    b"p",
    b"table",
    b"center",
    b"noscript",
];

/// A file that a tool of versions writes in place of a large one.
fn pointer(head: &[u8]) -> Option<String> {
    let git_lfs = [&b"version https://git-lfs.github.com/spec/"[..], b"version https://hawser.github.com/spec/"];
    if git_lfs.iter().any(|version| head.starts_with(version)) {
        return Some("contents are a pointer of Git LFS, and not the file; fetch it with `git lfs pull`".to_owned());
    }
    let annexed = head.starts_with(b"/annex/objects/")
        || head.starts_with(b"../") && {
            let line = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
            memchr::memmem::find(line, b".git/annex/objects/").is_some()
        };
    annexed
        .then(|| "contents are a pointer of git-annex, and not the file; fetch it with `git annex get FILE`".to_owned())
}

/// The first element of HTML or XML.
struct Root<'a> {
    name: &'a [u8],
    /// What follows the name.
    rest: &'a [u8],
    /// Whether `<!DOCTYPE html>` precedes it.
    is_html: bool,
    /// Whether `<?xml … ?>` precedes it.
    is_xml: bool,
}

/// Finds the first element behind a byte order mark, blanks, comments and declarations.
fn markup(head: &[u8]) -> Option<Root<'_>> {
    let mut rest = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head).trim_ascii_start();
    let (mut is_html, mut is_xml, mut is_markup) = (false, false, false);
    loop {
        let after = |end: &[u8]| memchr::memmem::find(rest, end).map_or(&[][..], |at| &rest[at + end.len()..]);
        rest = match rest {
            [b'<', b'!', b'-', b'-', ..] => after(b"-->"),
            [b'<', b'?', ..] => {
                is_xml |= rest.len() > 5 && rest[2..5].eq_ignore_ascii_case(b"xml");
                after(b"?>")
            }
            [b'<', b'!', kind @ ..] if starts_with(kind, b"doctype") => {
                is_html |= starts_with(kind[7..].trim_ascii_start(), b"html");
                after(b">")
            }
            [b'<', name @ ..] if name.first().is_some_and(u8::is_ascii_alphabetic) => {
                let end = name.iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(name.len());
                let ends = name.get(end).is_none_or(|byte| byte.is_ascii_whitespace() || matches!(byte, b'>' | b'/'));
                let (name, rest) = name.split_at(end);
                return (ends || is_xml || is_html).then_some(Root { name, rest, is_html, is_xml });
            }
            _ => return is_markup.then_some(Root { name: b"", rest, is_html, is_xml }),
        };
        // A comment alone is also found in other text.
        is_markup |= is_html || is_xml;
        rest = rest.trim_ascii_start();
    }
}

fn starts_with(text: &[u8], word: &[u8]) -> bool {
    text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
}

/// The text of the first element of this name, shortened.
fn element(text: &[u8], name: &[u8]) -> Option<String> {
    let mut from = 0;
    loop {
        let at = from + memchr::memchr(b'<', &text[from..])? + 1;
        from = at;
        let Some(rest) = text.get(at..).filter(|rest| starts_with(rest, name)) else { continue };
        if rest.get(name.len()) != Some(&b'>') {
            continue;
        }
        let inside = &rest[name.len() + 1..];
        let end = memchr::memchr(b'<', inside).unwrap_or(inside.len());
        let inside = String::from_utf8_lossy(&inside[..end]);
        let words: Vec<&str> = inside.split_whitespace().collect();
        return Some(words.join(" ").chars().take(80).collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_errors_and_pointers_are_told_from_data() {
        let s3 = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>";
        let azure = "\u{FEFF}<?xml version=\"1.0\"?><Error><Code>BlobNotFound</Code><Message>The specified blob does not exist.\nRequestId:1</Message></Error>";
        for (head, expected) in [
            ("<!DOCTYPE html>\n<html><head><title>\n Log in</title>", "an HTML page with the title \"Log in\""),
            (" \n<!-- saved, or not -->\n<!doctype HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\">", "an HTML page"),
            ("\u{FEFF}\r\n<HTML lang=\"en\">", "an HTML page"),
            ("<?xml version=\"1.0\"?><!DOCTYPE html><html xmlns=\"http://www.w3.org/1999/xhtml\">", "an HTML page"),
            ("<body>", "an HTML page"),
            (s3, "an error of an object store, and not data: AccessDenied: Access Denied;"),
            (azure, "BlobNotFound: The specified blob does not exist. RequestId:1;"),
            ("<Error><Code>NoSuchKey</Code></Error>", "not data: NoSuchKey;"),
            ("<?xml version='1.0'?><ListBucketResult xmlns='x'><Name>b</Name>", "the list of a bucket"),
            ("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n", "`git lfs pull`"),
            ("version https://hawser.github.com/spec/v1\n", "a pointer of Git LFS"),
            ("/annex/objects/SHA256E-s3--0.csv\n", "`git annex get FILE`"),
            ("../../.git/annex/objects/0q/x.csv", "a pointer of git-annex"),
        ] {
            for lines in [false, true] {
                let found = text(head.as_bytes(), lines).unwrap_or_default();
                assert!(found.contains(expected), "{head}: {found}");
            }
        }
        for (head, expected) in [
            (
                "<br />\n<b>Warning</b>:  mysqli_connect(): in /srv/export.php on line 3<br />\nid,name\n",
                "an HTML page",
            ),
            ("<script>location='/login'</script>", "an HTML page"),
            ("<?xml version=\"1.0\"?>\n<rows><row id=\"1\"/></rows>", "contents are XML"),
        ] {
            assert!(text(head.as_bytes(), false).unwrap_or_default().contains(expected), "{head}");
            assert_eq!(text(head.as_bytes(), true), None, "{head}");
        }
    }

    #[test]
    fn data_with_brackets_stays_data() {
        for head in [
            "<34>Oct 11 22:14:15 host su: failed\n",
            "<html_id>,name\n1,x\n",
            "<id>,name\n1,x\n",
            "<- 200 OK\n",
            "id,name\n1,<html>\n",
            "version,https://git-lfs.github.com/spec/v1\n",
            "{\"a\":\"<!DOCTYPE html>\"}",
            "<!-- a comment alone -->\nid,name\n",
            "../a,b\n",
            "",
            "<",
            "<!",
        ] {
            assert_eq!((text(head.as_bytes(), false), binary(head.as_bytes())), (None, None), "{head}");
        }
    }

    #[test]
    fn binary_files_are_named_with_what_to_do() {
        for (head, expected) in [
            (&b"%PDF-1.7\n%\xE2\xE3\xCF\xD3\n"[..], "contents are PDF"),
            (b"\x89PNG\r\n\x1A\n\0\0", "a picture (PNG)"),
            (b"\xFF\xD8\xFF\xE0\0\x10JFIF", "a picture (JPEG)"),
            (b"7z\xBC\xAF\x27\x1C\0\x04", "a 7z archive; unpack it"),
            (b"Rar!\x1A\x07\x01\0", "a rar archive"),
            (b"\x1F\x8B\x08\0\0\0\0\0", "compressed with gzip inside of another compression; decompress it first"),
            (b"\x28\xB5\x2F\xFD\x04\0", "compressed with zstd inside"),
            (b"\x04\x22\x4D\x18\x64", "contents are lz4"),
            (b"\x89HDF\r\n\x1A\n", "HDF5"),
            (b"\x80\x04\x95\x10\0", "a pickle of Python"),
            (b"{\\rtf1\\ansi", "RTF"),
            (b"PGDMP\x01\x0E\0", "a dump of pg_dump"),
        ] {
            let found = binary(head).unwrap_or_default();
            assert!(found.contains(expected), "{head:?}: {found}");
        }
        for text in ["ORC,name\n", "GIF8,1\n", "LZIP file\n", "SEQ\n", "PGDMP\n"] {
            assert_eq!(binary(text.as_bytes()), None, "{text}");
        }
    }
}
