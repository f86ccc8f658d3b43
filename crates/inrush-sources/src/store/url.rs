//! Addresses of files that are read over the network.

use std::fmt;
use std::sync::Arc;

use inrush_formats::format::promises_a_format;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::archives::{Copies, promises_an_archive};

/// Schemes of object stores. Their addresses have a bucket and a key. The key is used as it is
/// written, without unescaping.
const BUCKETS: [(&str, Store); 8] = [
    ("s3", Store::S3),
    ("s3a", Store::S3),
    ("gs", Store::Gcs),
    ("az", Store::Azure),
    ("azure", Store::Azure),
    ("adl", Store::Azure),
    ("abfs", Store::Azure),
    ("abfss", Store::Azure),
];

/// Parts of the names of secret query parameters and store options.
const SECRET: [&str; 10] =
    ["secret", "token", "password", "passwd", "pwd", "signature", "credential", "auth", "key", "sas"];

/// Query parameters of a signature, which differ between two downloads.
struct Signature {
    /// Parameter that identifies the signature.
    mark: &'static str,
    /// Names of its other parameters. A `*` at the end matches any rest of a name.
    parameters: &'static [&'static str],
}

/// Parameter names are compared in lower case. The first signature that matches counts.
const SIGNATURES: [Signature; 6] = [
    Signature { mark: "x-amz-signature", parameters: &["x-amz-*"] },
    Signature { mark: "x-goog-signature", parameters: &["x-goog-*"] },
    Signature { mark: "x-oss-signature", parameters: &["x-oss-*"] },
    // CloudFront, and the older signatures of S3, Google and Alibaba.
    Signature {
        mark: "signature",
        parameters: &[
            "expires",
            "awsaccesskeyid",
            "googleaccessid",
            "ossaccesskeyid",
            "key-pair-id",
            "policy",
            "hash-algorithm",
        ],
    },
    // A shared access signature of Azure. Its version parameter is always present.
    Signature {
        mark: "sv",
        parameters: &[
            "sig", "se", "st", "sp", "sr", "ss", "srt", "si", "sip", "spr", "skoid", "sktid", "skt", "ske", "sks",
            "skv", "saoid", "suoid", "scid", "sdd", "ses",
        ],
    },
    Signature { mark: "sig", parameters: &["expires", "expiry", "exp"] },
];

/// The protocol of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Store {
    /// That of Amazon S3, which other stores speak, too.
    S3,
    /// That of Google Cloud Storage.
    Gcs,
    /// That of the blob storage of Azure.
    Azure,
}

impl Store {
    #[cfg(feature = "cloud")]
    pub(super) fn name(self) -> &'static str {
        match self {
            Store::S3 => "S3",
            Store::Gcs => "Google Cloud Storage",
            Store::Azure => "Azure",
        }
    }
}

/// Options of stores that are not in the environment: endpoint, region, `allow_http`, `anonymous`
/// and so on, as key and value. They hold no secret, so they can be written down.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreOptions(Vec<(String, String)>);

impl StoreOptions {
    /// Parses `key=value` entries. A key for a secret is refused, because every user of a machine
    /// can read arguments. Secrets come from the environment, a profile or the machine's identity.
    ///
    /// # Errors
    /// The faulty entry and the problem, without the entry's value.
    pub fn parse(entries: &[String]) -> Result<Self, String> {
        let mut options = Vec::new();
        for entry in entries {
            let (key, value) = entry
                .split_once('=')
                .ok_or_else(|| "a store option has the form key=value, such as region=eu-west-1".to_owned())?;
            let key = key.trim().to_ascii_lowercase().replace('-', "_");
            let no_secret = ["skip_signature", "aws_skip_signature", "authority_host", "authority_id"];
            if SECRET.iter().any(|secret| key.contains(secret)) && !no_secret.contains(&key.as_str()) {
                return Err(format!(
                    "the store option {key} is a secret, and other users can read arguments; set it in the environment (such as AWS_SECRET_ACCESS_KEY) or in a profile"
                ));
            }
            let may_be_secret =
                |url: Url| !url.username().is_empty() || url.password().is_some() || url.query().is_some();
            if Url::parse(value.trim()).is_ok_and(may_be_secret) {
                return Err(format!(
                    "the address in the store option {key} has a user, a password or parameters, and other users can read arguments; set credentials in the environment or in a profile"
                ));
            }
            options.push((key, value.trim().to_owned()));
        }
        Ok(StoreOptions(options))
    }

    /// These options, and of `others` those whose key is not among them.
    #[must_use]
    pub fn over(&self, others: &StoreOptions) -> StoreOptions {
        let is_new = |(key, _): &&(String, String)| self.0.iter().all(|(own, _)| own != key);
        StoreOptions(others.0.iter().filter(is_new).chain(&self.0).cloned().collect())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }
}

impl fmt::Display for StoreOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs: Vec<String> = self.iter().map(|(key, value)| format!("{key}={value}")).collect();
        f.write_str(&pairs.join(", "))
    }
}

/// The address of a file on a web server or in an object store. `Debug` and `Display` hide its
/// secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct SourceUrl {
    text: String,
    pub(super) options: Arc<StoreOptions>,
    /// Of archives.
    pub(crate) copies: Copies,
}

/// A parsed address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Address {
    Http(Url),
    /// `authority` is the bucket, or `container@account`. `key` may be a pattern or a folder.
    #[cfg_attr(not(feature = "cloud"), allow(dead_code, reason = "only its scheme is in a message"))]
    Bucket {
        store: Store,
        scheme: String,
        authority: String,
        key: String,
    },
}

impl SourceUrl {
    /// The address, if `text` has a scheme of files: `s3://`, `gs://`, `az://`, `abfss://` and
    /// their variants, `http://` or `https://`.
    pub fn new(text: &str, options: &Arc<StoreOptions>) -> Option<Self> {
        let (scheme, _) = text.split_once("://")?;
        let known = is_http(scheme) || bucket(scheme).is_some();
        known.then(|| SourceUrl { text: text.to_owned(), options: Arc::clone(options), copies: Copies::default() })
    }

    /// Whether the address is a file. An address of an object store always is. An address of a web
    /// server is one where its path ends with the extension of a known format or compression
    /// (`.ndjson`, `.csv.gz`, `.parquet`, …) or of an archive, or where the user gave the format.
    /// Other addresses, such as `http://host:9200/index`, are not files.
    pub fn is_file(&self, format_is_given: bool) -> bool {
        match self.address() {
            Ok(Address::Http(url)) => {
                format_is_given || promises_a_format(url.path()) || promises_an_archive(url.path())
            }
            Ok(Address::Bucket { .. }) | Err(_) => true,
        }
    }

    /// Whether the address is in an object store.
    pub fn is_in_a_store(&self) -> bool {
        self.text.split_once("://").is_some_and(|(scheme, _)| bucket(scheme).is_some())
    }

    pub(super) fn address(&self) -> Result<Address, String> {
        let (scheme, rest) = self.text.split_once("://").ok_or("has no scheme")?;
        let Some(store) = bucket(scheme) else {
            let url = Url::parse(&self.text).map_err(|e| format!("is not a valid URL: {e}"))?;
            return Ok(Address::Http(url));
        };
        let (authority, key) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.is_empty() {
            return Err(format!("has no bucket; write it as {scheme}://bucket/folder/*.parquet"));
        }
        let (scheme, authority, key) = (scheme.to_owned(), authority.to_owned(), key.to_owned());
        Ok(Address::Bucket { store, scheme, authority, key })
    }
}

fn is_http(scheme: &str) -> bool {
    scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
}

fn bucket(scheme: &str) -> Option<Store> {
    BUCKETS.iter().find(|(name, _)| scheme.eq_ignore_ascii_case(name)).map(|(_, store)| *store)
}

/// An address for messages and records: without user, password and the parameters of a signature,
/// and with `***` for values that may be secret. The rest tells files apart, and ids are made of
/// it.
pub(super) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    // Both calls fail only for an address without a host, and an address of a web server has one.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_fragment(None);
    let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    let signature = signature(&pairs);
    let signed = |name: &str| signature.is_some_and(|signature| signature.has(name));
    if !pairs.iter().any(|(name, _)| signed(name) || is_secret(name)) {
        return url.into();
    }
    let kept: Vec<_> = pairs.iter().filter(|(name, _)| !signed(name)).collect();
    url.set_query(None);
    if !kept.is_empty() {
        let mut query = url.query_pairs_mut();
        for (name, value) in kept {
            query.append_pair(name, if is_secret(name) { "***" } else { value });
        }
    }
    url.into()
}

/// The kind of signature in a query, if there is one.
fn signature(pairs: &[(String, String)]) -> Option<&'static Signature> {
    let has = |name: &str| pairs.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
    // `sv` alone may be any parameter.
    SIGNATURES.iter().find(|signature| has(signature.mark) && (signature.mark != "sv" || has("sig")))
}

impl Signature {
    fn has(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        let fits = |known: &&str| match known.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => name == **known,
        };
        name == self.mark || self.parameters.iter().any(fits)
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET.iter().any(|secret| name.contains(secret))
}

impl fmt::Display for SourceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address() {
            Ok(Address::Http(url)) => f.write_str(&shown(&url)),
            Ok(Address::Bucket { .. }) => f.write_str(&self.text),
            // An address that cannot be parsed may contain secrets anywhere.
            Err(_) => write!(f, "{}://…", self.text.split("://").next().unwrap_or_default()),
        }
    }
}

impl fmt::Debug for SourceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SourceUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> SourceUrl {
        SourceUrl::new(text, &Arc::default()).unwrap()
    }

    #[test]
    fn buckets_and_web_servers_are_told_from_paths() {
        for text in ["s3://b/k", "gs://b", "az://c/k", "abfss://c@a.dfs.core.windows.net/k", "HTTPS://h/a.csv"] {
            assert!(SourceUrl::new(text, &Arc::default()).is_some(), "{text}");
        }
        for text in ["logs/*.ndjson", "-", "postgres://h/db", "c:/x.csv", "s3:b"] {
            assert!(SourceUrl::new(text, &Arc::default()).is_none(), "{text}");
        }
    }

    #[test]
    fn keys_are_taken_as_they_are_written() {
        let Address::Bucket { authority, key, .. } = url("s3://b/a b/x?%20[1]*.csv").address().unwrap() else {
            panic!()
        };
        assert_eq!((authority.as_str(), key.as_str()), ("b", "a b/x?%20[1]*.csv"));
        assert!(url("s3:///k").address().unwrap_err().contains("bucket"));
    }

    #[test]
    fn a_web_address_is_a_file_by_its_ending_or_by_the_format() {
        for text in
            ["http://h:9200/docs.ndjson", "https://h/a/b.csv.gz?download=1", "https://h/x.PARQUET", "http://h/d.zst"]
        {
            assert!(url(text).is_file(false), "{text}");
        }
        for text in ["https://h/x.zip", "https://h/x.tar?a=b", "https://h/a/x.TGZ", "https://h/x.tar.gz"] {
            assert!(url(text).is_file(false), "{text}");
        }
        for text in ["http://h:9200/index", "http://h:9200", "http://h:9200/logs-2024.01.01", "http://h/a.csv/"] {
            assert!(!url(text).is_file(false), "{text}");
            assert!(url(text).is_file(true), "{text}");
        }
        assert!(url("s3://bucket/folder").is_file(false));
    }

    #[test]
    fn what_is_secret_is_not_shown() {
        let check = |text: &str, expected: &str| {
            assert_eq!(url(text).to_string(), expected);
            assert_eq!(format!("{:?}", url(text)), format!("SourceUrl({expected})"));
        };
        check("https://me:pw@h/a.csv?year=2024#top", "https://h/a.csv?year=2024");
        check("https://h/a.csv?year=2024&api_key=abc", "https://h/a.csv?year=2024&api_key=***");
        check("https://h/a.csv?X-Amz-Date=1&X-Amz-Signature=abc", "https://h/a.csv");
        check("https://a.blob.core.windows.net/c/a.csv?sv=1&sig=abc", "https://a.blob.core.windows.net/c/a.csv");
        check("https://user:pw@[/a.csv", "https://…");
        check("https://h/d.csv?file=A&X-Amz-Date=1&X-Amz-Signature=abc&part=2", "https://h/d.csv?file=A&part=2");
        check("https://h/d.csv?file=A&sig=S&Expires=9", "https://h/d.csv?file=A");
        check("https://h/d.csv?v=1&sv=2&se=3&sp=r&SIG=4", "https://h/d.csv?v=1");
        check("https://h/d.csv?sv=2&sp=4", "https://h/d.csv?sv=2&sp=4");
        check("https://h/d.csv?a=1&Signature=x&Key-Pair-Id=y&Policy=z", "https://h/d.csv?a=1");
        check("https://h/d.csv?a=1&token=t&sig=x", "https://h/d.csv?a=1&token=***");
    }

    #[test]
    fn options_are_no_place_for_secrets() {
        let given = |entries: &[&str]| {
            StoreOptions::parse(&entries.iter().map(|entry| (*entry).to_owned()).collect::<Vec<_>>()).unwrap()
        };
        let over = given(&["region=a", "endpoint=http://b"]).over(&given(&["allow_http=true", "region=c"]));
        assert_eq!(over, given(&["allow_http=true", "region=a", "endpoint=http://b"]));
        assert_eq!(over.to_string(), "allow_http=true, region=a, endpoint=http://b");
        for address in ["http://key@b", "http://u:p@b", "https://b/?sig=x"] {
            let error = StoreOptions::parse(&[format!("endpoint={address}")]).unwrap_err();
            assert!(error.contains("endpoint") && !error.contains(address), "{error}");
        }
        let parse = |entry: &str| StoreOptions::parse(&[entry.to_owned()]);
        let options = parse("Allow-HTTP=true").unwrap();
        assert_eq!(options.iter().collect::<Vec<_>>(), [("allow_http", "true")]);
        assert!(parse("skip_signature=true").is_ok());
        for secret in
            ["aws_secret_access_key=xyz", "sas_token=xyz", "account_key=xyz", "google_service_account_key=xyz"]
        {
            let message = parse(secret).unwrap_err();
            assert!(message.contains("environment") && !message.contains("xyz"), "{message}");
        }
        assert!(parse("region").unwrap_err().contains("key=value"));
    }
}
