//! Tokens for the mechanism OAUTHBEARER.

use std::error::Error;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rdkafka::client::OAuthToken;
use serde::Deserialize;

/// How long a token is used that does not say when it expires. A file is read again then.
const LIFETIME: Duration = Duration::from_secs(300);

/// The claims of a JSON Web Token (RFC 7519) that matter here.
#[derive(Default, Deserialize)]
struct Claims {
    /// Seconds since 1970.
    exp: Option<f64>,
    sub: Option<String>,
}

/// The token in a file. librdkafka asks for it again when four fifths of its time are over, so that
/// another program can renew it.
pub(crate) fn read(file: Option<&Path>) -> Result<OAuthToken, Box<dyn Error>> {
    let file = file.ok_or("option `from_bearer_file` names no file with a token")?;
    let text = std::fs::read_to_string(file);
    let token = text.map_err(|error| format!("the token file {}: {error}", file.display()))?.trim().to_owned();
    let claims = claims(&token).unwrap_or_default();
    let default = SystemTime::now().duration_since(UNIX_EPOCH)? + LIFETIME;
    let lifetime_ms = claims.exp.map_or(default.as_millis() as i64, |seconds| (seconds * 1000.0) as i64);
    Ok(OAuthToken { token, principal_name: claims.sub.unwrap_or_default(), lifetime_ms })
}

/// The claims of a token, without a check of its signature, which is the broker's. `None` for a
/// token of another form.
fn claims(token: &str) -> Option<Claims> {
    let payload = token.split('.').nth(1)?;
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload.trim_end_matches('=')).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lifetime_is_that_of_the_token() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        let payload = URL_SAFE_NO_PAD.encode(r#"{"sub":"loader","exp":1800000000}"#);
        std::fs::write(&file, format!("e30.{payload}.\n")).unwrap();
        let token = read(Some(&file)).unwrap();
        assert_eq!((token.principal_name.as_str(), token.lifetime_ms), ("loader", 1_800_000_000_000));
        assert_eq!(token.token, format!("e30.{payload}."));
        std::fs::write(&file, "opaque").unwrap();
        let opaque = read(Some(&file)).unwrap();
        assert!(opaque.lifetime_ms > 1_700_000_000_000 && opaque.principal_name.is_empty());
        std::fs::remove_file(&file).unwrap();
        assert!(read(Some(&file)).err().unwrap().to_string().starts_with("the token file"));
    }
}
