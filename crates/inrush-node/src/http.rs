//! One request to a node on this machine, before there is a transport.

use std::net::SocketAddr;
use std::time::Duration;

use inrush_cluster::clock;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Status and body of `GET path`. `None` if no reply comes within two seconds.
pub(super) async fn get(address: SocketAddr, path: &str, authorization: Option<&str>) -> Option<(u16, String)> {
    let ask = async {
        let mut stream = TcpStream::connect(address).await.ok()?;
        let login = authorization.map(|value| format!("authorization: {value}\r\n")).unwrap_or_default();
        let request = format!("GET {path} HTTP/1.0\r\nhost: {address}\r\n{login}\r\n");
        stream.write_all(request.as_bytes()).await.ok()?;
        let mut reply = Vec::new();
        stream.read_to_end(&mut reply).await.ok()?;
        let reply = String::from_utf8_lossy(&reply).into_owned();
        let (head, body) = reply.split_once("\r\n\r\n")?;
        Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
    };
    clock::timeout(Duration::from_secs(2), ask).await.ok()?
}
