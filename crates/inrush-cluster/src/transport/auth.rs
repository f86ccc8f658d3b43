//! Credentials for the cluster, and secrets that are never shown.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;

use super::aws::Signer;
use super::error::SetupError;

/// A password, key or token. `Debug` prints `***` and there is no `Display`, so a secret cannot
/// reach a log or a report by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A secret that a prompt or the calling program supplies.
    pub fn new(value: impl Into<String>) -> Self {
        Secret(value.into())
    }

    /// Reads a secret from a file. Line ends at the end of the file are removed. If every user of
    /// the machine can read the file, a warning is logged and the secret is used.
    ///
    /// # Errors
    /// [`SetupError::File`] if the file cannot be read, [`SetupError::Credentials`] if it is empty.
    pub fn from_file(path: &Path) -> Result<Self, SetupError> {
        let file = |source| SetupError::File { what: "the secret in", path: path.to_owned(), source };
        let text = std::fs::read_to_string(path).map_err(file)?;
        if readable_by_everyone(path) {
            tracing::warn!(
                "{} can be read by every user of this machine; make it private with chmod 600",
                path.display()
            );
        }
        let value = text.trim_end_matches(['\r', '\n']);
        if value.is_empty() {
            return Err(SetupError::Credentials(format!("{} is empty; expected a secret in it", path.display())));
        }
        Ok(Secret(value.to_owned()))
    }

    /// Reads a secret from the environment variable `name`.
    ///
    /// # Errors
    /// [`SetupError::Credentials`] if the variable is not set, empty or not UTF-8.
    pub fn from_env(name: &str) -> Result<Self, SetupError> {
        match std::env::var(name) {
            Ok(value) if !value.is_empty() => Ok(Secret(value)),
            Ok(_) | Err(std::env::VarError::NotPresent) => Err(SetupError::Credentials(format!(
                "the environment variable {name} is not set or empty; expected a secret in it"
            ))),
            Err(std::env::VarError::NotUnicode(_)) => {
                Err(SetupError::Credentials(format!("the environment variable {name} is not valid UTF-8")))
            }
        }
    }

    /// The secret itself, for the code that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// How requests are authorized. The same credentials are sent to all nodes.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Credentials {
    /// No `Authorization` header.
    #[default]
    None,
    /// User name and password (`Authorization: Basic`).
    Basic {
        /// The user name, without a colon.
        user: String,
        /// The password.
        password: Secret,
    },
    /// An API key of Elasticsearch (`Authorization: ApiKey`). Either `id:key`, or both already in
    /// base64, as in the `encoded` field of the server's reply.
    ApiKey(Secret),
    /// A token (`Authorization: Bearer`).
    Bearer(Secret),
    /// Every request is signed for the OpenSearch services of Amazon.
    #[doc(hidden)]
    SigV4(Arc<Signer>),
}

impl Credentials {
    /// Credentials for basic authentication.
    ///
    /// # Errors
    /// [`SetupError::Credentials`] if the user name has a colon, which basic authentication cannot
    /// carry (RFC 7617).
    pub fn basic(user: &str, password: Secret) -> Result<Self, SetupError> {
        if user.contains(':') {
            return Err(SetupError::Credentials(format!(
                "the user name {user:?} has a colon, which basic authentication cannot carry"
            )));
        }
        Ok(Credentials::Basic { user: user.to_owned(), password })
    }

    /// Whether requests are sent without credentials.
    pub fn is_none(&self) -> bool {
        matches!(self, Credentials::None)
    }

    /// The `Authorization` header, if it is the same for every request. It is marked as sensitive,
    /// so `Debug` does not show its value. `None` for [`Credentials::SigV4`], which signs every
    /// attempt anew.
    ///
    /// # Errors
    /// [`SetupError::Credentials`] if the secret has characters that a header cannot carry.
    #[doc(hidden)]
    pub fn static_header(&self) -> Result<Option<HeaderValue>, SetupError> {
        let text = match self {
            Credentials::None | Credentials::SigV4(_) => return Ok(None),
            Credentials::Basic { user, password } => {
                format!("Basic {}", STANDARD.encode(format!("{user}:{}", password.expose())))
            }
            Credentials::ApiKey(key) if key.expose().contains(':') => {
                format!("ApiKey {}", STANDARD.encode(key.expose()))
            }
            Credentials::ApiKey(encoded) => format!("ApiKey {}", encoded.expose()),
            Credentials::Bearer(token) => format!("Bearer {}", token.expose()),
        };
        let mut value = HeaderValue::from_str(&text).map_err(|_| {
            SetupError::Credentials(
                "the key or token has a line break or another character that a header cannot hold".into(),
            )
        })?;
        value.set_sensitive(true);
        Ok(Some(value))
    }
}

#[cfg(unix)]
fn readable_by_everyone(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    // A pipe from a shell's <(…) has no meaningful permissions.
    std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o004 != 0)
}

#[cfg(not(unix))]
fn readable_by_everyone(_: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(credentials: Credentials) -> String {
        let value = credentials.static_header().unwrap().unwrap();
        assert!(value.is_sensitive());
        value.to_str().unwrap().to_owned()
    }

    #[test]
    fn headers() {
        let secret = Secret::new;
        assert_eq!(header(Credentials::basic("u", secret("p:w")).unwrap()), "Basic dTpwOnc=");
        assert_eq!(header(Credentials::ApiKey(secret("id:key"))), "ApiKey aWQ6a2V5");
        assert_eq!(header(Credentials::ApiKey(secret("aWQ6a2V5"))), "ApiKey aWQ6a2V5");
        assert_eq!(header(Credentials::Bearer(secret("t"))), "Bearer t");
        assert!(Credentials::None.static_header().unwrap().is_none());
        assert!(Credentials::Bearer(secret("a\nb")).static_header().is_err());
        assert!(Credentials::basic("a:b", secret("")).is_err());
    }

    #[test]
    fn secrets_do_not_show() {
        let credentials = Credentials::basic("u", Secret::new("hunter2")).unwrap();
        assert_eq!(format!("{credentials:?}"), "Basic { user: \"u\", password: *** }");
    }

    #[test]
    fn a_file_is_read_without_its_line_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "id:key\r\n").unwrap();
        assert_eq!(Secret::from_file(&path).unwrap().expose(), "id:key");
        std::fs::write(&path, "\n").unwrap();
        assert!(Secret::from_file(&path).unwrap_err().to_string().contains("is empty"));
        let missing = Secret::from_file(&folder.path().join("none")).unwrap_err().to_string();
        assert!(missing.contains("none"), "{missing}");
    }

    #[cfg(unix)]
    #[test]
    fn permissions_are_looked_at() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "x").unwrap();
        for (mode, open) in [(0o600, false), (0o640, false), (0o644, true)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(readable_by_everyone(&path), open, "{mode:o}");
        }
    }
}
