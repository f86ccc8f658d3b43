//! Servers as their makers publish them: finding, downloading and unpacking them.

use std::fs::{File, Permissions};
use std::io::{self, Read, Write};
use std::ops::RangeInclusive;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use flate2::read::GzDecoder;
use inrush_cluster::clock::timeout;
pub use inrush_core::KnownProduct;
use sha2::{Digest, Sha256, Sha512};

use super::error::NodeError;
use super::tell::{Download, Tell};
use super::{java, paths};

/// A product in one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distribution {
    /// The product.
    pub product: KnownProduct,
    /// The version.
    pub version: String,
}

/// The address of OpenSearch's archives that include Java.
const ARCHIVES: &str = "https://artifacts.opensearch.org/releases/bundle/opensearch";

/// SHA-256 of archives that Maven's repository gives no checksum for, so Maven cannot check them.
const SUMS: [(KnownProduct, &str, &str); 2] = [
    (KnownProduct::OpenSearch, "3.8.0", "196c3cf4602c394f2e40e6174ccbf2a924eae37246f08fa6bbb6b75f9fd5ff1f"),
    (KnownProduct::Elasticsearch, "9.5.3", "bec49f3b8d00e75c8d1cec85c35298635ec9fbd3ae80ef5aeb6bc05abdb3db2d"),
];

/// A temporary file of this age belongs to no running process.
const LEFT_OVER_MIN: Duration = Duration::from_secs(24 * 3600);

/// The longest pause of a server during a download.
const STALL_MAX: Duration = Duration::from_secs(60);

impl Distribution {
    /// OpenSearch of this version.
    pub fn opensearch(version: impl Into<String>) -> Self {
        Distribution { product: KnownProduct::OpenSearch, version: version.into() }
    }

    /// Elasticsearch of this version.
    pub fn elasticsearch(version: impl Into<String>) -> Self {
        Distribution { product: KnownProduct::Elasticsearch, version: version.into() }
    }

    /// The versions of a product on this machine, unpacked or as archives, in no particular order.
    pub fn versions_here(product: KnownProduct) -> Vec<String> {
        let prefix = format!("{}-", Distribution { product, version: String::new() }.name());
        let folders = [paths::root().join("dist"), paths::cache()];
        let entries = folders.into_iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
        let version = |entry: std::fs::DirEntry| {
            let name = entry.file_name().into_string().ok()?;
            let version = name.strip_prefix(&prefix)?.trim_end_matches(".zip");
            let plain = version.bytes().all(|b| b.is_ascii_digit() || b == b'.');
            plain.then(|| version.to_owned())
        };
        let mut versions: Vec<String> = entries.filter_map(Result::ok).filter_map(version).collect();
        versions.sort();
        versions.dedup();
        versions
    }

    /// Product and version for messages.
    pub fn title(&self) -> String {
        let product = match self.product {
            KnownProduct::OpenSearch => "OpenSearch",
            KnownProduct::Elasticsearch => "Elasticsearch",
        };
        format!("{product} {}", self.version)
    }

    pub(super) fn name(&self) -> &'static str {
        match self.product {
            KnownProduct::OpenSearch => "opensearch",
            KnownProduct::Elasticsearch => "elasticsearch",
        }
    }

    /// The versions of Java that run it, as its own `jvm.options` and class files allow.
    pub(super) fn java(&self) -> RangeInclusive<u32> {
        let mut numbers = self.version.split('.').map(|number| number.parse().unwrap_or(0));
        let (major, minor): (u32, u32) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        match (self.product, major, minor) {
            (KnownProduct::OpenSearch, 3.., _) => 21..=u32::MAX,
            // Its options have a flag that Java 24 refuses.
            (KnownProduct::OpenSearch, ..) => 11..=23,
            (KnownProduct::Elasticsearch, 9.., _) => 21..=u32::MAX,
            (KnownProduct::Elasticsearch, 8, 18..) => 17..=25,
            // It needs the security manager, which Java 24 does not have.
            (KnownProduct::Elasticsearch, 8, _) => 17..=23,
            (KnownProduct::Elasticsearch, ..) => 11..=21,
        }
    }

    /// The coordinates in Maven.
    fn artifact(&self) -> String {
        let maker = match self.product {
            KnownProduct::OpenSearch => "org.opensearch",
            KnownProduct::Elasticsearch => "org.elasticsearch",
        };
        format!("{maker}.distribution.integ-test-zip:{}:{}:zip", self.name(), self.version)
    }

    /// The folder of the unpacked distribution, which is fetched if it is not there: from the
    /// cache, through Maven, or (OpenSearch) from the maker's own archive. That archive includes a
    /// Java, so it is the only way if this machine has no suitable Java. It is not used if the
    /// caller named a Java (`java_home`).
    pub(super) fn home(
        &self,
        root: &Path,
        cache: &Path,
        java_home: Option<&Path>,
        tell: &Tell,
    ) -> Result<PathBuf, NodeError> {
        let home = root.join("dist").join(format!("{}-{}", self.name(), self.version));
        let with_java = root.join("dist").join(format!("{}-{}-with-java", self.name(), self.version));
        let mut tried = Vec::new();
        let no_java = match java::choose(&java::find(java_home, None), &self.title(), &self.java()) {
            Err(e) if java_home.is_some() => return Err(e),
            other => other.err(),
        };
        if no_java.is_none() {
            if home.join("bin").is_dir() {
                return Ok(home);
            }
            let zip = cache.join(format!("{}-{}.zip", self.name(), self.version));
            if !zip.is_file() {
                tell.line(&format!("fetching {} with Maven", self.title()));
                tried.extend(self.by_maven(cache, &zip).err());
            }
            if zip.is_file() {
                unpack(&home, |into| unzip(&zip, into)).map_err(NodeError::io(cannot_unpack(&zip)))?;
                return Ok(home);
            }
        }
        if self.product == KnownProduct::OpenSearch {
            if with_java.join("bin").is_dir() {
                return Ok(with_java);
            }
            let base = std::env::var("INRUSH_OPENSEARCH_MIRROR").unwrap_or_else(|_| ARCHIVES.to_owned());
            match self.by_archive(&base, cache, STALL_MAX, tell) {
                Ok(archive) => {
                    unpack(&with_java, |into| untar(&archive, into)).map_err(NodeError::io(cannot_unpack(&archive)))?;
                    return Ok(with_java);
                }
                Err(e) => tried.push(e),
            }
        }
        // The user can fix a missing Java most easily.
        Err(no_java.unwrap_or(NodeError::NoDistribution { what: self.title(), tried }))
    }

    /// Maven copies into a folder of its own first, so files in the cache are complete.
    fn by_maven(&self, cache: &Path, zip: &Path) -> Result<(), String> {
        let cannot = |e: io::Error| format!("cannot write to {}: {e}", cache.display());
        std::fs::create_dir_all(cache).map_err(cannot)?;
        sweep(cache, LEFT_OVER_MIN);
        let folder = tempfile::tempdir_in(cache).map_err(cannot)?;
        let output = Command::new("mvn")
            .args(["-q", "-B", "-Dstyle.color=never", "dependency:copy"])
            .arg(format!("-Dartifact={}", self.artifact()))
            .arg(format!("-DoutputDirectory={}", folder.path().display()))
            .stdin(Stdio::null())
            .output()
            .map_err(|e| format!("Maven (mvn) cannot be run: {e}"))?;
        if !output.status.success() {
            return Err(format!("Maven failed: {}", reason(&output)));
        }
        let name = zip.file_name().unwrap_or_default();
        let brought = folder.path().join(name);
        let not_brought = |e: io::Error| format!("Maven did not bring {name:?}: {e}");
        self.check_sum(File::open(&brought).map_err(not_brought)?)?;
        std::fs::rename(&brought, zip).map_err(not_brought)
    }

    /// Compares an archive with the checksum that is known of this version, if one is.
    fn check_sum(&self, mut archive: impl Read) -> Result<(), String> {
        let is_this = |(product, version, _): &&(KnownProduct, &str, &str)| {
            (*product, *version) == (self.product, &self.version[..])
        };
        let Some((.., expected)) = SUMS.iter().find(is_this) else { return Ok(()) };
        let mut sum = Sha256::new();
        let mut part = vec![0; 1 << 16];
        loop {
            match archive.read(&mut part) {
                Ok(0) => break,
                Ok(size) => sum.update(&part[..size]),
                Err(e) => return Err(format!("cannot read what Maven brought: {e}")),
            }
        }
        let found = hexadecimal(sum.finalize());
        if found != *expected {
            return Err(format!(
                "the archive that Maven brought has the checksum {found}, expected {expected}; it was not kept"
            ));
        }
        Ok(())
    }

    /// Downloads `BASE/VERSION/opensearch-VERSION-linux-x64.tar.gz` and checks it against the
    /// `.sha512` beside it. `stall`: the longest pause of the server.
    pub(super) fn by_archive(&self, base: &str, cache: &Path, stall: Duration, tell: &Tell) -> Result<PathBuf, String> {
        let arch = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
        let name = format!("opensearch-{}-linux-{arch}.tar.gz", self.version);
        let url = format!("{base}/{}/{name}", self.version);
        let archive = cache.join(&name);
        // The archive gets its name after its checksum was verified.
        if archive.is_file() {
            return Ok(archive);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|e| e.to_string())?;
        runtime.block_on(async {
            let client = inrush_cluster::transport::download_client().map_err(|e| e.to_string())?;
            let cannot = |url: &str, e: &dyn std::error::Error| format!("cannot download {url}: {}", root_cause(e));
            let silent = |url: &str| format!("cannot download {url}: nothing came for {} s", stall.as_secs());
            let get = async |url: &str| {
                let response = timeout(stall, client.get(url).send()).await.map_err(|_| silent(url))?;
                response.and_then(reqwest::Response::error_for_status).map_err(|e| cannot(url, &e))
            };
            let cannot_write = |e: io::Error| format!("cannot write to {}: {e}", cache.display());
            let sums_url = format!("{url}.sha512");
            let sums = timeout(stall, get(&sums_url).await?.text()).await.map_err(|_| silent(&sums_url))?;
            let sums = sums.map_err(|e| cannot(&sums_url, &e))?;
            let expected = sums.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
            std::fs::create_dir_all(cache).map_err(cannot_write)?;
            sweep(cache, LEFT_OVER_MIN);
            let mut file = tempfile::NamedTempFile::new_in(cache).map_err(cannot_write)?;
            let mut sum = Sha512::new();
            let mut response = get(&url).await?;
            let mut download = Download::begin(tell, &name, response.content_length());
            while let Some(chunk) =
                timeout(stall, response.chunk()).await.map_err(|_| silent(&url))?.map_err(|e| cannot(&url, &e))?
            {
                sum.update(&chunk);
                download.add(chunk.len());
                file.write_all(&chunk).map_err(cannot_write)?;
            }
            let found = hexadecimal(sum.finalize());
            if found != expected {
                return Err(format!("{url} has the checksum {found}, expected {expected}; it was not kept"));
            }
            file.persist(&archive).map_err(|e| cannot_write(e.error))?;
            Ok(archive)
        })
    }
}

/// The text of a checksum.
fn hexadecimal(sum: impl AsRef<[u8]>) -> String {
    sum.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn cannot_unpack(archive: &Path) -> String {
    format!("cannot unpack {}; if it is damaged, delete it, and it is fetched again", archive.display())
}

/// The message of a command that failed. Maven marks errors on stdout, its launcher writes to
/// stderr.
fn reason(output: &Output) -> String {
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let marked = stdout.lines().find(|line| line.contains("ERROR"));
    let any = || stderr.lines().chain(stdout.lines()).find(|line| !line.trim().is_empty());
    marked.or_else(any).map_or_else(|| format!("{}, no reason given", output.status), str::to_owned)
}

fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

/// Unpacks into a folder beside `home` and renames it. So two processes can do it at once, and no
/// process sees an incomplete one.
fn unpack(home: &Path, fill: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    let parent = home.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(parent)?;
    sweep(parent, LEFT_OVER_MIN);
    let folder = tempfile::tempdir_in(parent)?;
    fill(folder.path())?;
    open_to_all(folder.path())?;
    // An archive has one folder at its top.
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder.path())?.filter_map(Result::ok).map(|entry| entry.path()).collect();
    let top = match (entries.pop(), entries.is_empty()) {
        (Some(only), true) if only.is_dir() => only,
        _ => folder.path().to_owned(),
    };
    match std::fs::rename(&top, home) {
        Err(_) if home.join("bin").is_dir() => Ok(()),
        other => other,
    }
}

/// Deletes the temporary files of downloads and unpacking that were killed, hundreds of megabytes
/// each time. Files that cannot be deleted are ignored.
fn sweep(folder: &Path, age_min: Duration) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        let is_temporary = entry.file_name().to_string_lossy().starts_with(".tmp");
        let age = entry.metadata().and_then(|metadata| metadata.modified()).ok().and_then(|time| time.elapsed().ok());
        if is_temporary && age.is_some_and(|age| age >= age_min) {
            let _ = match entry.path().is_dir() {
                true => std::fs::remove_dir_all(entry.path()),
                false => std::fs::remove_file(entry.path()),
            };
        }
    }
}

/// Lets the node's user read all of it, regardless of the file mode mask of this process.
fn open_to_all(path: &Path) -> io::Result<()> {
    let metadata = std::fs::symlink_metadata(path)?;
    if metadata.is_symlink() {
        return Ok(());
    }
    let mode = metadata.permissions().mode();
    // The owner's permission to execute decides about the others'.
    let open = mode | if mode & 0o100 == 0 { 0o444 } else { 0o555 };
    std::fs::set_permissions(path, Permissions::from_mode(open))?;
    if metadata.is_dir() {
        std::fs::read_dir(path)?.try_for_each(|entry| open_to_all(&entry?.path()))?;
    }
    Ok(())
}

fn unzip(archive: &Path, into: &Path) -> io::Result<()> {
    zip::ZipArchive::new(File::open(archive)?).and_then(|mut zip| zip.extract(into)).map_err(io::Error::other)
}

fn untar(archive: &Path, into: &Path) -> io::Result<()> {
    let file: Box<dyn Read> = Box::new(GzDecoder::new(File::open(archive)?));
    tar::Archive::new(file).unpack(into)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::net::TcpListener;

    use super::*;

    /// A web server for these paths and contents. It ends with the test.
    fn serve(files: Vec<(String, Vec<u8>)>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                let path = lines.next().unwrap().unwrap().split(' ').nth(1).unwrap().to_owned();
                lines.take_while(|line| !line.as_ref().unwrap().is_empty()).for_each(drop);
                let found = files.iter().find(|(name, _)| *name == path);
                let (status, body) = found.map_or(("404 Not Found", &b""[..]), |(_, body)| ("200 OK", body));
                let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
                stream.write_all(head.as_bytes()).unwrap();
                stream.write_all(body).unwrap();
            }
        });
        url
    }

    fn archive() -> Vec<u8> {
        let mut tar = tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
        let mut header = tar::Header::new_gnu();
        header.set_size(2);
        header.set_mode(0o755);
        header.set_cksum();
        tar.append_data(&mut header, "opensearch-9.9.9/bin/opensearch", &b"#!"[..]).unwrap();
        tar.into_inner().unwrap().finish().unwrap()
    }

    fn check(sum: impl Fn(&[u8]) -> String) -> Result<PathBuf, String> {
        let body = archive();
        let arch = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
        let path = format!("/9.9.9/opensearch-9.9.9-linux-{arch}.tar.gz");
        let sums = format!("{}  opensearch.tar.gz\n", sum(&body));
        let url = serve(vec![(path.clone(), body), (format!("{path}.sha512"), sums.into_bytes())]);
        let cache = tempfile::tempdir().unwrap();
        let archive = Distribution::opensearch("9.9.9").by_archive(&url, cache.path(), STALL_MAX, &Tell::default())?;
        let home = cache.path().join("home");
        unpack(&home, |into| untar(&archive, into)).unwrap();
        assert!(home.join("bin/opensearch").is_file());
        Ok(home)
    }

    #[test]
    fn an_archive_is_downloaded_checked_and_unpacked() {
        check(|body| Sha512::digest(body).iter().map(|b| format!("{b:02x}")).collect()).unwrap();
        let error = check(|_| "00".repeat(64)).unwrap_err();
        assert!(error.contains("checksum"), "{error}");
    }

    #[test]
    fn an_archive_of_maven_is_compared_with_the_checksum_of_its_version() {
        let other = &b"another archive"[..];
        for (product, version, sum) in SUMS {
            let known = Distribution { product, version: version.to_owned() };
            let error = known.check_sum(other).unwrap_err();
            assert!(error.contains(sum) && error.contains(&hexadecimal(Sha256::digest(other))), "{error}");
        }
        Distribution::opensearch("9.5.3").check_sum(other).unwrap();
    }

    #[test]
    fn a_missing_archive_is_named() {
        let cache = tempfile::tempdir().unwrap();
        let missing =
            Distribution::opensearch("1.0.0").by_archive(&serve(Vec::new()), cache.path(), STALL_MAX, &Tell::default());
        let error = missing.unwrap_err();
        assert!(error.contains("404"), "{error}");
    }

    #[test]
    fn a_server_that_falls_silent_is_not_waited_for() {
        let cache = tempfile::tempdir().unwrap();
        // It accepts the connection and never answers.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let silent = Distribution::opensearch("1.0.0").by_archive(
            &url,
            cache.path(),
            Duration::from_millis(20),
            &Tell::default(),
        );
        let error = silent.unwrap_err();
        assert!(error.contains("nothing came for"), "{error}");
    }

    #[test]
    fn what_was_unpacked_can_be_read_by_all() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        unpack(&home, |into| {
            let bin = into.join("opensearch-9.9.9/bin");
            std::fs::create_dir_all(&bin)?;
            std::fs::write(bin.join("opensearch"), "#!")?;
            std::fs::write(into.join("opensearch-9.9.9/README"), "")?;
            std::fs::set_permissions(into.join("opensearch-9.9.9/README"), Permissions::from_mode(0o600))?;
            std::fs::set_permissions(bin.join("opensearch"), Permissions::from_mode(0o700))?;
            std::fs::set_permissions(bin, Permissions::from_mode(0o700))
        })
        .unwrap();
        let mode = |path: &str| std::fs::metadata(home.join(path)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("bin"), mode("bin/opensearch"), mode("README")), (0o755, 0o755, 0o644));
    }

    #[test]
    fn what_was_left_behind_is_deleted_when_it_is_old() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(path(".tmpAbC/lib")).unwrap();
        std::fs::write(path(".tmpDeF"), "half of a download").unwrap();
        std::fs::write(path("opensearch-3.6.0.zip"), "").unwrap();
        let there = || std::fs::read_dir(folder.path()).unwrap().count();
        sweep(folder.path(), LEFT_OVER_MIN);
        assert_eq!(there(), 3, "somebody may be writing to them");
        sweep(folder.path(), Duration::ZERO);
        assert!(there() == 1 && path("opensearch-3.6.0.zip").is_file());
    }

    #[test]
    fn what_maven_says_is_passed_on() {
        let said = |script: &str| reason(&Command::new("sh").args(["-c", script]).output().unwrap());
        assert_eq!(said("echo x; echo '[ERROR] no such artifact'; echo y >&2; exit 1"), "[ERROR] no such artifact");
        let launcher = "echo 'The JAVA_HOME environment variable is not defined correctly' >&2; exit 1";
        assert_eq!(said(launcher), "The JAVA_HOME environment variable is not defined correctly");
        assert_eq!(said("exit 3"), "exit status: 3, no reason given");
    }

    #[test]
    fn artifacts_are_named_as_their_makers_do() {
        assert_eq!(
            Distribution::elasticsearch("8.19.21").artifact(),
            "org.elasticsearch.distribution.integ-test-zip:elasticsearch:8.19.21:zip"
        );
        assert_eq!(
            Distribution::opensearch("3.6.0").artifact(),
            "org.opensearch.distribution.integ-test-zip:opensearch:3.6.0:zip"
        );
    }
}
