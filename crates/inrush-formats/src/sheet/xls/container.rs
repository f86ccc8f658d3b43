//! Compound files, the container of `.xls`: a file system of sectors, one stream of which is the
//! workbook.

/// The first bytes of a compound file.
pub(super) const SIGNATURE: &[u8] = b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1";

/// The end of the sector numbers. Higher values are markers.
const SECTORS_MAX: u32 = 0xFFFF_FFFA;

/// Streams below this length are in small sectors, bytes.
const SMALL_MAX: usize = 4096;

const SMALL_SECTOR: usize = 64;

struct Container<'a> {
    data: &'a [u8],
    sector_len: usize,
    /// For each sector the next one in its chain.
    next: Vec<u32>,
}

struct Entry {
    name: String,
    start: u32,
    len: usize,
}

/// The contents of the first of these streams that exists.
pub(super) fn stream(data: &[u8], names: &[&str]) -> Result<Vec<u8>, String> {
    let header = data.get(..512).filter(|header| header.starts_with(SIGNATURE)).ok_or("its header is incomplete")?;
    let sector_len = match u16_at(header, 30) {
        9 => 512,
        12 => 4096,
        other => return Err(format!("its sectors have the length 2^{other}")),
    };
    let mut file = Container { data, sector_len, next: Vec::new() };
    file.next = file.table(header)?;
    let directory = file.chain(u32_at(header, 48), usize::MAX)?;
    let entries: Vec<Entry> = directory.chunks_exact(128).map(|entry| Entry::new(entry, sector_len)).collect();
    let by_name = |name: &&str| entries.iter().skip(1).find(|entry| entry.name.eq_ignore_ascii_case(name));
    if by_name(&"EncryptedPackage").is_some() {
        return Err("it has a password".to_owned());
    }
    let Some(entry) = names.iter().find_map(by_name) else {
        return Err(format!("there is no stream {} in it", names.join(" or ")));
    };
    let root = entries.first().ok_or("its directory is empty")?;
    if entry.len >= SMALL_MAX || root.len == 0 {
        return file.chain(entry.start, entry.len);
    }
    let small_next = numbers(&file.chain(u32_at(header, 60), usize::MAX)?).collect();
    let small = file.chain(root.start, root.len)?;
    let small = Container { data: &small, sector_len: SMALL_SECTOR, next: small_next };
    small.follow(entry.start, entry.len, 0)
}

impl Container<'_> {
    /// The table of all sectors. The header has the positions of its first parts.
    fn table(&self, header: &[u8]) -> Result<Vec<u32>, String> {
        let mut parts: Vec<u32> = numbers(&header[76..]).collect();
        let mut more = u32_at(header, 68);
        let mut rest = self.data.len() / self.sector_len + 1;
        while more < SECTORS_MAX && rest > 0 {
            parts.extend(numbers(self.sector(more, 1)?));
            more = parts.pop().unwrap_or(SECTORS_MAX);
            rest -= 1;
        }
        let mut table = Vec::new();
        for part in parts.into_iter().filter(|part| *part < SECTORS_MAX) {
            table.extend(numbers(self.sector(part, 1)?));
            // Only a damaged file has more entries than sectors.
            if table.len() > self.data.len() {
                return Err("its table of sectors is longer than the file".to_owned());
            }
        }
        Ok(table)
    }

    /// A sector. The last one may be short. The numbering starts after the first `before` sectors.
    fn sector(&self, number: u32, before: usize) -> Result<&[u8], String> {
        let from = (number as usize + before).saturating_mul(self.sector_len);
        let to = from.saturating_add(self.sector_len).min(self.data.len());
        self.data
            .get(from..to)
            .filter(|sector| !sector.is_empty())
            .ok_or_else(|| format!("sector {number} is beyond its end"))
    }

    fn chain(&self, start: u32, len: usize) -> Result<Vec<u8>, String> {
        self.follow(start, len, 1)
    }

    /// The sectors of the chain that begins at `start`, up to `len` bytes.
    fn follow(&self, start: u32, len: usize, before: usize) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        let mut number = start;
        while number < SECTORS_MAX && bytes.len() < len {
            let sector = self.sector(number, before)?;
            bytes.extend_from_slice(&sector[..sector.len().min(len - bytes.len())]);
            if bytes.len() > self.data.len() {
                return Err("a chain of sectors is circular".to_owned());
            }
            number = self.next.get(number as usize).copied().unwrap_or(SECTORS_MAX);
        }
        if len != usize::MAX && bytes.len() < len {
            return Err(format!("a stream of {len} bytes ends after {}", bytes.len()));
        }
        Ok(bytes)
    }
}

impl Entry {
    fn new(entry: &[u8], sector_len: usize) -> Entry {
        let units = entry[..64].chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
        let units: Vec<u16> = units.take_while(|unit| *unit != 0).collect();
        let len =
            u64::from(u32_at(entry, 120)) | if sector_len == 512 { 0 } else { u64::from(u32_at(entry, 124)) << 32 };
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        Entry { name: String::from_utf16_lossy(&units), start: u32_at(entry, 116), len }
    }
}

fn numbers(bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    bytes.chunks_exact(4).map(|number| u32_at(number, 0))
}

/// `bytes` are long enough.
fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
