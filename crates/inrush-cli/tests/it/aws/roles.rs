//! The roles of an instance, of a container and of a pod.

use std::fs;

use super::server::{SECRET, Server};
use super::{Scene, check};

#[tokio::test]
async fn the_role_of_an_instance() {
    let server = Server::start();
    let scene = Scene::new(&[("AWS_REGION", "eu-west-1"), ("AWS_EC2_METADATA_SERVICE_ENDPOINT", &server.url)]).await;
    check(&scene.signs(&[]).await, "INSTANCE1", "eu-west-1");
    let asked = server.requests("GET /latest/meta-data/iam/security-credentials/loader");
    assert_eq!(asked.len(), 1, "the keys are kept");
    assert_eq!(asked[0].header("x-aws-ec2-metadata-token"), format!("metadata-{SECRET}"));
    assert_eq!(server.requests("PUT /latest/api/token").len(), 1);
}

#[tokio::test]
async fn keys_that_are_about_to_expire_are_renewed() {
    let server = Server::start().lives(&[240]);
    let scene = Scene::new(&[("AWS_REGION", "eu-west-1"), ("AWS_EC2_METADATA_SERVICE_ENDPOINT", &server.url)]).await;
    check(&scene.signs(&[]).await, "INSTANCE2", "eu-west-1");
    assert_eq!(server.requests("GET /latest/meta-data/iam/security-credentials/loader").len(), 2);
}

#[tokio::test]
async fn what_is_wrong_with_an_instance_is_said() {
    let role = "GET /latest/meta-data/iam/security-credentials/loader";
    for (request, status, body, expected) in [
        ("PUT /latest/api/token", 403, "", "token was answered with status 403"),
        ("GET /latest/meta-data/iam/security-credentials/ ", 404, "", "no AWS credentials"),
        (role, 400, "", "400"),
        (role, 200, "<html>hunter2</html>", "invalid JSON"),
        (role, 200, r#"{"Code":"Success","AccessKeyId":"A","SecretAccessKey":"hunter2"}"#, "Token"),
        (role, 200, r#"{"Code":"AssumeRoleUnauthorizedAccess","Message":"no trust"}"#, "no trust"),
    ] {
        let server = Server::start().instead(request.trim_end(), status, body);
        let server = match request.ends_with(' ') {
            // Only the list of roles.
            true => server.instead(role, 200, "{}"),
            false => server,
        };
        let scene =
            Scene::new(&[("AWS_REGION", "eu-west-1"), ("AWS_EC2_METADATA_SERVICE_ENDPOINT", &server.url)]).await;
        let text = scene.refuses(&[]).await;
        assert!(text.contains("the role of the EC2 instance") && text.contains(expected), "{request} {body}: {text}");
    }
    let nowhere = [("AWS_REGION", "eu-west-1"), ("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:1")];
    let text = Scene::new(&nowhere).await.refuses(&[]).await;
    assert!(text.contains("no AWS credentials") && text.contains("Connection refused"), "{text}");
}

#[tokio::test]
async fn the_role_of_a_container() {
    let server = Server::start();
    let uri = format!("{}/container", server.url);
    let mut scene = Scene::new(&[("AWS_REGION", "eu-west-1"), ("AWS_CONTAINER_CREDENTIALS_FULL_URI", &uri)]).await;
    scene.set("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Basic hunter2");
    check(&scene.signs(&[]).await, "CONTAINER1", "eu-west-1");
    assert_eq!(server.requests("GET /container")[0].header("authorization"), "Basic hunter2");
    // As EKS Pod Identity has it: the file is written anew from time to time.
    let token = scene.file("token", "Bearer hunter2");
    scene.set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", &token);
    check(&scene.signs(&[]).await, "CONTAINER2", "eu-west-1");
    assert_eq!(server.requests("GET /container")[1].header("authorization"), "Bearer hunter2");
}

#[tokio::test]
async fn what_is_wrong_with_a_container_is_said() {
    let region = ("AWS_REGION", "eu-west-1");
    let expired =
        (200, r#"{"AccessKeyId":"A","SecretAccessKey":"hunter2","Token":"t","Expiration":"2020-01-01T00:00:00Z"}"#);
    for ((status, body), expected) in [
        ((403, r#"{"code":"AccessDenied","message":"no role"}"#), "403"),
        ((404, ""), "404"),
        ((200, r#"{"AccessKeyId":"A","SecretAccessKey":"hunter2"}"#), "Token"),
        (expired, "expired at 2020-01-01 00:00:00 UTC"),
    ] {
        let server = Server::start().instead("GET /container", status, body);
        let uri = format!("{}/container", server.url);
        let scene = Scene::new(&[region, ("AWS_CONTAINER_CREDENTIALS_FULL_URI", &uri)]).await;
        let text = scene.refuses(&[]).await;
        assert!(text.contains(&format!("FULL_URI={uri}")) && text.contains(expected), "{body}: {text}");
    }
    let elsewhere = [region, ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://192.0.2.1/container")];
    let text = Scene::new(&elsewhere).await.refuses(&[]).await;
    assert!(text.contains("did not refer to an allowed IP address"), "{text}");
    let uri = format!("{}/container", Server::start().url);
    let mut scene = Scene::new(&[region, ("AWS_CONTAINER_CREDENTIALS_FULL_URI", &uri)]).await;
    scene.set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "/nowhere/token");
    let text = scene.refuses(&[]).await;
    assert!(text.contains("/nowhere/token") && text.contains("No such file"), "{text}");
}

pub(super) const ROLE: &str = "arn:aws:iam::123456789012:role/loader";

/// The environment that EKS gives a pod (IRSA).
pub(super) async fn pod(server: &Server) -> Scene {
    let mut scene = Scene::new(&[("AWS_REGION", "eu-west-1"), ("AWS_ROLE_ARN", ROLE)]).await;
    let token = scene.file("web-identity", "hunter2-jwt");
    scene.set("AWS_WEB_IDENTITY_TOKEN_FILE", &token);
    scene.set("AWS_ROLE_SESSION_NAME", "nightly");
    scene.set("AWS_ENDPOINT_URL_STS", &server.url);
    scene
}

#[tokio::test]
async fn a_web_identity() {
    let server = Server::start();
    let scene = pod(&server).await;
    check(&scene.signs(&[]).await, "IDENTITY1", "eu-west-1");
    let asked = &server.requests("POST /")[0];
    assert_eq!(asked.header("authorization"), "");
    for part in ["RoleArn=arn%3Aaws%3Aiam", "RoleSessionName=nightly", "WebIdentityToken=hunter2-jwt"] {
        assert!(asked.body.contains(part), "{}", asked.body);
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_web_identity_is_said() {
    let error = "<ErrorResponse><Error><Type>Sender</Type><Code>ExpiredTokenException</Code>\
                 <Message>Token expired: current date must be before the expiration date</Message></Error></ErrorResponse>";
    for (status, body, expected) in
        [(400, error, "Token expired"), (403, "no XML", "status 403"), (200, "<html>hunter2</html>", "status 200")]
    {
        let server = Server::start().instead("POST /", status, body);
        let text = pod(&server).await.refuses(&[]).await;
        assert!(text.contains("cannot get AWS credentials from a web identity"), "{text}");
        assert!(text.contains(expected), "{body}: {text}");
    }
    let server = Server::start();
    let scene = pod(&server).await;
    fs::remove_file(scene.home.path().join("web-identity")).unwrap();
    let text = scene.refuses(&[]).await;
    assert!(text.contains("web-identity") && text.contains("No such file"), "{text}");
    let expired = Server::start().lives(&[-60]);
    let text = pod(&expired).await.refuses(&[]).await;
    assert!(text.contains("a web identity") && text.contains("expired at 20"), "{text}");
}
