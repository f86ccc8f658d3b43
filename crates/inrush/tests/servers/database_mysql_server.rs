//! A MySQL of its makers, and the ways in which its users log in.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::database_mysql::execute;
use crate::database_server::{Server, folder, ordinary, port, read, table};

/// A MySQL 8.0, or the one whose folder `INRUSH_MYSQL` names: an unpacked archive of its makers.
pub fn start() -> (Server, String) {
    let base = std::env::var_os("INRUSH_MYSQL").map_or_else(fetched_mysql, PathBuf::from);
    let (mysqld, folder, port) = (base.join("bin/mysqld"), folder("mysql"), port());
    let (data, base) = (format!("--datadir={}/data", folder.display()), format!("--basedir={}", base.display()));
    let common = ["--no-defaults", "--innodb-flush-log-at-trx-commit=0", &base, &data];
    let mut make = ordinary(&mysqld);
    make.args(common).arg("--initialize-insecure").stderr(Stdio::null());
    assert!(make.status().unwrap().success());
    let mut command = ordinary(&mysqld);
    command.args(common).args(["--bind-address=127.0.0.1", "--mysqlx=OFF", "--skip-log-bin"]);
    command.args([format!("--port={port}"), format!("--socket={}/socket", folder.display())]);
    let server = Server::start(&mut command, port, folder);
    let root = format!("mysql://root@127.0.0.1:{port}");
    execute(&root, "CREATE DATABASE shop CHARACTER SET utf8mb4");
    (server, format!("{root}/shop"))
}

fn fetched_mysql() -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/mysql.sh");
    let found = Command::new(script).stderr(Stdio::inherit()).output().unwrap();
    assert!(found.status.success(), "MySQL cannot be fetched");
    PathBuf::from(String::from_utf8(found.stdout).unwrap().trim_end())
}

/// The ways in which users of MySQL log in, over TLS and over plain text.
pub fn logins(url: &str, server: &Server) {
    execute(
        url,
        "CREATE USER caching IDENTIFIED WITH caching_sha2_password BY 'pw'; \
         CREATE USER sha256 IDENTIFIED WITH sha256_password BY 'pw'; \
         GRANT SELECT ON shop.* TO caching, sha256",
    );
    let authority = format!("ssl-mode=VERIFY_CA&ssl-ca={}/data/ca.pem", server.folder.display());
    let (plain, tls) = ("ssl-mode=DISABLED", "ssl-mode=REQUIRED");
    for (user, parameters, problem) in [
        ("caching", plain, Some("over TLS")),
        ("caching", tls, None),
        // The server remembers the password.
        ("caching", plain, None),
        ("sha256", plain, Some("over TLS")),
        ("sha256", &authority, None),
        ("caching", "ssl-mode=PREFERRED", None),
        // The certificate that the server makes has no name of a host.
        ("caching", &authority.replace("VERIFY_CA", "VERIFY_IDENTITY"), Some("certificate")),
        ("caching", "ssl-mode=VERIFY_IDENTITY", Some("certificate")),
        ("caching", "sslMode=VERIFY_IDENTITY", Some("sslMode")),
    ] {
        let address = format!("{}?{parameters}", url.replace("root@", &format!("{user}:pw@")));
        let found = table(&address, "ids").map(|(source, _)| read(source)).map_err(|error| error.to_string());
        match (found, problem) {
            (Ok(outcome), None) => assert_eq!(outcome.records.len(), 1, "{user} {parameters}"),
            (Err(error), Some(problem)) => {
                assert!(error.contains(problem) && !error.contains(":pw"), "{user} {parameters}: {error}");
            }
            (found, _) => panic!("{user} {parameters}: {:?}", found.map(|_| ())),
        }
    }
}
