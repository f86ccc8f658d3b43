//! Files in S3.

use std::process::Output;

use super::Scene;
use super::login::{login, portal};
use super::roles::pod;
use super::server::Server;

async fn mapping(scene: &Scene, server: &Server, more: &[&str]) -> Output {
    let endpoint = format!("endpoint={}", server.url);
    let source = ["mapping", "s3://data/a.ndjson", "--store-option", &endpoint, "--store-option", "allow_http=true"];
    scene.run(&[&source[..], more].concat()).await
}

async fn reads(scene: &Scene, server: &Server) -> String {
    let output = mapping(scene, server, &[]).await;
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let asked = server.requests("GET /data/a.ndjson");
    let asked = &asked[asked.len() - 1];
    assert_eq!(asked.header("x-amz-security-token"), "hunter2-token");
    asked.header("authorization").split(['=', ',']).nth(1).unwrap().to_owned()
}

#[tokio::test]
async fn files_are_read_with_the_same_credentials() {
    let server = Server::start();
    let credential = reads(&pod(&server).await, &server).await;
    assert!(credential.starts_with("IDENTITY1/") && credential.ends_with("/eu-west-1/s3/aws4_request"), "{credential}");
    let scene = portal(&server).await;
    login(&scene, 3600);
    let mut scene = scene;
    scene.set("AWS_PROFILE", "corp");
    let credential = reads(&scene, &server).await;
    assert!(credential.starts_with("PORTAL2/") && credential.contains("/eu-west-1/s3/"), "{credential}");
    let scene = Scene::new(&[("AWS_EC2_METADATA_SERVICE_ENDPOINT", &server.url)]).await;
    assert!(reads(&scene, &server).await.starts_with("INSTANCE3/"));
}

#[tokio::test]
async fn what_is_missing_is_said() {
    let server = Server::start();
    let scene = Scene::new(&[("AWS_EC2_METADATA_DISABLED", "true")]).await;
    let output = mapping(&scene, &server, &[]).await;
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("no AWS credentials in the environment") && text.contains("anonymous=true"), "{text}");
    let output = mapping(&scene, &server, &["--store-option", "anonymous=true"]).await;
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(server.requests("GET /data/a.ndjson")[0].header("authorization"), "");
}
