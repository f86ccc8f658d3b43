//! A real S3 server, versitygw, which `scripts/s3-server.sh` installs.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

pub(crate) const KEY: &str = "reader";
pub(crate) const SECRET: &str = "very-secret-indeed";

/// A server with a bucket `data`, whose objects are the files of `folder`/root/data.
pub(crate) struct S3 {
    server: Child,
    pub(crate) endpoint: String,
    pub(crate) folder: TempDir,
}

impl S3 {
    pub(crate) fn start() -> Self {
        let installed = Command::new("../../scripts/s3-server.sh").stderr(Stdio::inherit()).output().unwrap();
        assert!(installed.status.success(), "the S3 server cannot be installed");
        let binary = String::from_utf8(installed.stdout).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("root/data")).unwrap();
        std::fs::create_dir_all(folder.path().join("sidecar")).unwrap();
        // Free at this moment; nothing else here takes ports at random meanwhile.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let server = Command::new(binary.trim())
            .args(["--access", KEY, "--secret", SECRET, "--port", &format!("127.0.0.1:{port}"), "posix", "--sidecar"])
            .args([folder.path().join("sidecar"), folder.path().join("root")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let s3 = S3 { server, endpoint: format!("http://127.0.0.1:{port}"), folder };
        for _ in 0..600 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return s3;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the S3 server does not answer");
    }
}

impl Drop for S3 {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
