//! Keys of the environment and of profiles.

use super::roles::ROLE;
use super::server::{SECRET, Server};
use super::{Scene, check};

const CREDENTIALS: &str = "# keys\n[default]\naws_access_key_id = DEFAULT\naws_secret_access_key=hunter2=\n\n[team]\n\
                           aws_access_key_id=TEAM ; old\naws_secret_access_key=hunter2\naws_session_token=hunter2\n";

const CONFIG: &str = "[default]\nregion = us-west-2\n[profile team]\nregion=eu-north-1\ns3 =\n  region = no\n\
                      [profile tool]\ncredential_process = printf '{\"Version\":1,\"AccessKeyId\":\"TOOL\",\
                      \"SecretAccessKey\":\"hunter2\"}'\n\
                      [profile half]\naws_access_key_id = HALF\n\
                      [profile broken]\ncredential_process = echo hunter2 | head -c 3; exit 3\n\
                      [profile odd]\ncredential_process = echo '{\"Version\":1,\"AccessKeyId\":\"hunter2\"}'\n\
                      [profile loop]\nrole_arn = arn:aws:iam::123456789012:role/a\nsource_profile = other\n\
                      [profile other]\nrole_arn = arn:aws:iam::123456789012:role/b\nsource_profile = loop\n";

#[tokio::test]
async fn keys_of_the_environment_and_of_profiles() {
    let keys = [("AWS_ACCESS_KEY_ID", "ENV"), ("AWS_SECRET_ACCESS_KEY", SECRET), ("AWS_SESSION_TOKEN", SECRET)];
    let mut scene = Scene::new(&keys).await;
    scene.file(".aws/credentials", CREDENTIALS);
    scene.file(".aws/config", CONFIG);
    check(&scene.signs(&[]).await, "ENV", "us-west-2");
    // A profile that is named wins over the environment, one of AWS_PROFILE does not.
    check(&scene.signs(&["--aws-profile", "team"]).await, "TEAM", "eu-north-1");
    scene.set("AWS_PROFILE", "team");
    check(&scene.signs(&[]).await, "ENV", "eu-north-1");
    scene.environment.retain(|(name, _)| name == "AWS_PROFILE");
    check(&scene.signs(&[]).await, "TEAM", "eu-north-1");
    scene.environment.clear();
    check(&scene.signs(&[]).await, "DEFAULT", "us-west-2");
    check(&scene.signs(&["--aws-profile", "tool", "--aws-region", "sa-east-1"]).await, "TOOL", "sa-east-1");
    scene.set("AWS_DEFAULT_REGION", "ap-south-1");
    check(&scene.signs(&[]).await, "DEFAULT", "ap-south-1");
    scene.set("AWS_REGION", "ap-south-2");
    check(&scene.signs(&[]).await, "DEFAULT", "ap-south-2");
    check(&scene.signs(&["--aws-region", "sa-east-1"]).await, "DEFAULT", "sa-east-1");
    // The files may be elsewhere.
    let elsewhere = scene.file("elsewhere", "[default]\naws_access_key_id=OTHER\naws_secret_access_key=hunter2\n");
    scene.set("AWS_SHARED_CREDENTIALS_FILE", &elsewhere);
    check(&scene.signs(&[]).await, "OTHER", "ap-south-2");
}

#[tokio::test]
async fn what_is_wrong_with_keys_and_profiles_is_said() {
    let mut scene = Scene::new(&[("AWS_EC2_METADATA_DISABLED", "true"), ("AWS_REGION", "eu-west-1")]).await;
    let text = scene.refuses(&[]).await;
    assert!(text.contains("no AWS credentials in the environment") && text.contains("set AWS_ACCESS_KEY_ID"), "{text}");
    scene.file(".aws/config", CONFIG);
    for (profile, expected) in [
        ("nobody", "no AWS credentials in the AWS profile nobody"),
        ("half", "half"),
        ("broken", "exit status: 3"),
        ("odd", "SecretAccessKey"),
        ("loop", "infinite loop"),
    ] {
        let text = scene.refuses(&["--aws-profile", profile]).await;
        assert!(text.contains(expected), "{profile}: {text}");
    }
    let broken = scene.file("broken", "[profile a]\nregion = x\n[profile b\n");
    scene.set("AWS_CONFIG_FILE", &broken);
    let text = scene.refuses(&[]).await;
    assert!(text.contains("the AWS profiles cannot be read") && text.contains("on line 3"), "{text}");
    scene.environment.retain(|(name, _)| name != "AWS_CONFIG_FILE");
    // A profile that is named has to have credentials.
    scene.set("AWS_PROFILE", "nobody");
    let text = scene.refuses(&[]).await;
    assert!(text.contains("the AWS profile nobody"), "{text}");
    scene.set("AWS_ACCESS_KEY_ID", "E");
    let text = scene.refuses(&[]).await;
    assert!(text.contains("only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set"), "{text}");
    scene.set("AWS_SECRET_ACCESS_KEY", SECRET);
    scene.environment.retain(|(name, _)| name != "AWS_REGION");
    let text = scene.refuses(&[]).await;
    assert!(text.contains("no AWS region: the host 127.0.0.1 does not name it"), "{text}");
}

#[tokio::test]
async fn a_role_of_a_profile() {
    let server = Server::start();
    let scene = Scene::new(&[("AWS_ENDPOINT_URL_STS", &server.url)]).await;
    scene.file(
        ".aws/config",
        &format!(
            "[profile loader]\nregion = eu-west-1\nrole_arn = {ROLE}\nsource_profile = base\nexternal_id = x1\n\
             [profile base]\naws_access_key_id = BASE\naws_secret_access_key = hunter2\n"
        ),
    );
    check(&scene.signs(&["--aws-profile", "loader"]).await, "ROLE1", "eu-west-1");
    let asked = &server.requests("POST /")[0];
    assert!(asked.header("authorization").contains("Credential=BASE/"), "{asked:?}");
    assert!(asked.body.contains("ExternalId=x1"), "{}", asked.body);
    let error = "<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code>\
                 <Message>BASE may not assume loader</Message></Error></ErrorResponse>";
    let server = Server::start().instead("POST /", 403, error);
    let mut scene = scene;
    scene.environment = vec![("AWS_ENDPOINT_URL_STS".to_owned(), server.url.clone())];
    let output = scene.ask(&["--aws-profile", "loader"]).await;
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("the AWS profile loader: ") && text.contains("BASE may not assume loader"), "{text}");
}
