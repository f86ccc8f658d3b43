//! Logins of IAM Identity Center.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use tempfile::TempDir;

use super::server::{Server, rfc3339};
use super::{Scene, check};

/// Writes a login of `aws sso login` that holds for `seconds`, with its refresh token, into the
/// file of the session `corp`.
pub(super) fn login(scene: &Scene, seconds: i64) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64;
    let later = rfc3339(now + 86_400);
    let renewal = format!(
        r#""refreshToken":"hunter2","clientId":"c","clientSecret":"hunter2","registrationExpiresAt":"{later}","#
    );
    login_with(scene, now + seconds, &renewal);
}

fn login_with(scene: &Scene, expiry: i64, renewal: &str) {
    let text = format!(
        r#"{{{renewal}"accessToken":"hunter2-login","expiresAt":"{}","region":"eu-west-1","startUrl":"https://corp.awsapps.com/start"}}"#,
        rfc3339(expiry)
    );
    // The SHA-1 of the session's name.
    scene.file(&format!(".aws/sso/cache/{}.json", sha1(&scene.home, "corp")), &text);
}

fn sha1(folder: &TempDir, text: &str) -> String {
    let file = folder.path().join("to-hash");
    fs::write(&file, text).unwrap();
    let printed = std::process::Command::new("sha1sum").arg(file).output().unwrap();
    String::from_utf8(printed.stdout).unwrap().split(' ').next().unwrap().to_owned()
}

pub(super) async fn portal(server: &Server) -> Scene {
    let scene = Scene::new(&[("AWS_ENDPOINT_URL_SSO", &server.url), ("AWS_ENDPOINT_URL_SSO_OIDC", &server.url)]).await;
    scene.file(
        ".aws/config",
        "[profile corp]\nregion = eu-west-1\nsso_session = corp\nsso_account_id = 123456789012\nsso_role_name = Loader\n\
         [sso-session corp]\nsso_region = eu-west-1\nsso_start_url = https://corp.awsapps.com/start\n",
    );
    scene
}

#[tokio::test]
async fn a_login_of_the_identity_center() {
    let server = Server::start();
    let scene = portal(&server).await;
    login(&scene, 3600);
    check(&scene.signs(&["--aws-profile", "corp"]).await, "PORTAL1", "eu-west-1");
    let asked = &server.requests("GET /federation/credentials")[0];
    assert_eq!(asked.header("x-amz-sso_bearer_token"), "hunter2-login");
    assert!(asked.line.contains("role_name=Loader") && asked.line.contains("account_id=123456789012"), "{asked:?}");
    assert_eq!(server.requests("POST /token").len(), 0);
    // A login that is about to expire is renewed.
    login(&scene, 60);
    check(&scene.signs(&["--aws-profile", "corp"]).await, "PORTAL2", "eu-west-1");
    assert_eq!(server.requests("POST /token").len(), 1);
    let asked = server.requests("GET /federation/credentials");
    assert_eq!(asked[1].header("x-amz-sso_bearer_token"), "hunter2-renewed");
}

#[tokio::test]
async fn what_is_wrong_with_a_login_is_said() {
    let scene = portal(&Server::start()).await;
    let text = scene.refuses(&["--aws-profile", "corp"]).await;
    assert!(text.contains("the AWS profile corp: ") && text.contains(".aws/sso/cache/"), "{text}");
    assert!(text.contains("log in with `aws sso login`"), "{text}");
    login_with(&scene, 0, "");
    let text = scene.refuses(&["--aws-profile", "corp"]).await;
    assert!(text.contains("expired") && text.contains("log in with `aws sso login`"), "{text}");
    let unauthorized = r#"{"message":"Session token not found or invalid"}"#;
    let server = Server::start().instead("POST /token", 400, r#"{"error":"invalid_grant"}"#);
    let scene = portal(&server.instead("GET /federation", 401, unauthorized)).await;
    login(&scene, -60);
    let text = scene.refuses(&["--aws-profile", "corp"]).await;
    assert!(text.contains("Session token not found") && text.contains("status 401"), "{text}");
    let server = Server::start().instead("GET /federation", 403, r#"{"message":"No access"}"#);
    let scene = portal(&server).await;
    login(&scene, 3600);
    let text = scene.refuses(&["--aws-profile", "corp"]).await;
    assert!(text.contains("the AWS profile corp: ") && text.contains("No access"), "{text}");
}
