//! The places of the AWS credentials of `--aws-sigv4` and of `s3://`, against a server that plays
//! each place and a fake cluster that notes whose keys signed.

mod login;
mod profiles;
mod roles;
#[cfg(feature = "cloud")]
mod s3;
mod server;

use std::fs;
use std::process::{Output, Stdio};
use std::sync::{Arc, Mutex};

use http::request::Parts;
use inrush_fake::{FakeCluster, FakeConfig};
use tempfile::TempDir;
use tokio::process::Command;

use self::server::{OBJECT, SECRET, Server};

/// A cluster, a home folder, and the environment of the binary.
struct Scene {
    home: TempDir,
    cluster: FakeCluster,
    /// The `Credential` of each request's signature.
    signed: Arc<Mutex<Vec<String>>>,
    environment: Vec<(String, String)>,
}

impl Scene {
    async fn new(environment: &[(&str, &str)]) -> Scene {
        let signed = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&signed);
        let verify = move |head: &Parts, _: &[u8]| {
            let authorization = head.headers.get("authorization").ok_or("not signed")?.to_str().unwrap();
            let credential = authorization.split(['=', ',']).nth(1).ok_or("no credential")?;
            noted.lock().unwrap().push(credential.to_owned());
            Ok(())
        };
        let config = FakeConfig::default().verify(verify);
        let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Scene {
            home: tempfile::tempdir().unwrap(),
            cluster: FakeCluster::start(config).await.unwrap(),
            signed,
            environment,
        }
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.home.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn set(&mut self, name: &str, value: &str) {
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    async fn run(&self, arguments: &[&str]) -> Output {
        let output = Command::new(env!("CARGO_BIN_EXE_inrush"))
            .current_dir(self.home.path())
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home.path())
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
            .unwrap();
        for text in [&output.stdout, &output.stderr] {
            let text = String::from_utf8_lossy(text);
            assert!(!text.contains(SECRET), "a secret is shown: {text}");
        }
        output
    }

    /// Asks the cluster some questions, with these flags; the `Credential` of all of them.
    async fn signs(&self, flags: &[&str]) -> String {
        self.signed.lock().unwrap().clear();
        let output = self.ask(flags).await;
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 4)), "{stderr}");
        let signed = self.signed.lock().unwrap();
        assert!(signed.len() > 1 && signed.iter().all(|credential| *credential == signed[0]), "{signed:?}");
        signed[0].clone()
    }

    /// Why the cluster could not be asked.
    async fn refuses(&self, flags: &[&str]) -> String {
        let output = self.ask(flags).await;
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert_eq!(self.cluster.requests().len(), 0);
        stderr
    }

    async fn ask(&self, flags: &[&str]) -> Output {
        let url = self.cluster.url();
        self.run(&[&["doctor", &url, "--aws-sigv4", "es", "--log-level", "trace"], flags].concat()).await
    }
}

/// The key, its date, region and service.
#[track_caller]
fn check(credential: &str, key: &str, region: &str) {
    let parts: Vec<&str> = credential.split('/').collect();
    assert_eq!((parts[0], parts[2], parts[3]), (key, region, "es"), "{credential}");
}

/// Loads, so that more than one kind of request is signed.
#[tokio::test]
async fn a_load_with_the_role_of_a_container() {
    let server = Server::start();
    let uri = format!("{}/container", server.url);
    let scene = Scene::new(&[("AWS_REGION", "eu-west-1"), ("AWS_CONTAINER_CREDENTIALS_FULL_URI", &uri)]).await;
    scene.file("a.ndjson", OBJECT);
    let url = scene.cluster.url();
    let output = scene.run(&["load", "a.ndjson", "--index", "a", "--to", &url, "--aws-sigv4", "es"]).await;
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(scene.signed.lock().unwrap().iter().all(|credential| credential.starts_with("CONTAINER1/")));
    assert_eq!((scene.cluster.documents("a").len(), server.requests("GET /container").len()), (2, 1));
}
