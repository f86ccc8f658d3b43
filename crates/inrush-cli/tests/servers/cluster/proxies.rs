//! nginx and haproxy in front of the nodes, as users run them: with short time-outs, and with
//! requests that they repeat by themselves.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use inrush_testbed::users;

use super::nodes::free_ports;

const START: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Nginx,
    /// With TLS and HTTP/2.
    NginxTls,
    Haproxy,
}

/// A proxy in front of all nodes. Killed when it is dropped.
pub struct Proxy {
    child: Child,
    pub url: String,
    /// The certificate authority of its certificate.
    pub authority: Option<PathBuf>,
}

impl Proxy {
    /// Starts one. `read`: how long it waits for an answer, s; `repeats`: whether it sends a
    /// request to another node then.
    pub fn start(kind: Kind, folder: &Path, nodes: &[String], read: u64, repeats: bool) -> Proxy {
        let port = free_ports(1)[0];
        let hosts: Vec<&str> = nodes.iter().map(|url| url.strip_prefix("http://").unwrap()).collect();
        let has_tls = kind == Kind::NginxTls;
        if has_tls {
            make_certificate(folder);
        }
        let (program, text) = match kind {
            Kind::Haproxy => ("haproxy", haproxy(port, &hosts, read, repeats)),
            Kind::Nginx | Kind::NginxTls => ("nginx", nginx(port, &hosts, read, repeats, has_tls, folder)),
        };
        let config = folder.join(format!("{program}.conf"));
        std::fs::write(&config, text).unwrap();
        let mut command = users::program(path(program), None, None).unwrap();
        match kind {
            Kind::Haproxy => command.arg("-db").arg("-f").arg(&config),
            Kind::Nginx | Kind::NginxTls => command.arg("-c").arg(&config).arg("-e").arg(folder.join("nginx.log")),
        };
        let log = std::fs::File::create(folder.join(format!("{program}.out"))).unwrap();
        // The guardian of the tests knows it by this folder.
        command.env("XDG_STATE_HOME", folder.join("state")).stdin(Stdio::null());
        command.stdout(log.try_clone().unwrap()).stderr(log);
        let child = command.spawn().unwrap();
        let scheme = if has_tls { "https" } else { "http" };
        let authority = has_tls.then(|| folder.join("proxy.crt"));
        let mut proxy = Proxy { child, url: format!("{scheme}://127.0.0.1:{port}"), authority };
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let ended = proxy.child.try_wait().unwrap();
            assert!(ended.is_none() && began.elapsed() < START, "{program} does not start; see {}", folder.display());
            std::thread::sleep(Duration::from_millis(20));
        }
        proxy
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // A drop cannot report a failure.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Debian has both in a folder that is not in the `PATH` of ordinary users.
fn path(program: &str) -> PathBuf {
    let folders = ["/usr/sbin", "/usr/local/sbin", "/usr/bin", "/usr/local/bin"];
    let found = folders.iter().map(|folder| Path::new(folder).join(program)).find(|path| path.exists());
    found.unwrap_or_else(|| panic!("{program} is not installed; run scripts/install-tools.sh"))
}

fn nginx(port: u16, hosts: &[&str], read: u64, repeats: bool, has_tls: bool, folder: &Path) -> String {
    let at = folder.display();
    let servers: String = hosts.iter().map(|host| format!("server {host}; ")).collect();
    let (tls, certificate) = match has_tls {
        true => (" ssl http2", format!("ssl_certificate {at}/proxy.crt; ssl_certificate_key {at}/proxy.key;")),
        false => ("", String::new()),
    };
    let next = if repeats { "error timeout non_idempotent" } else { "off" };
    // One process, so that its end is the end of all of it.
    format!(
        "daemon off; master_process off; pid {at}/nginx.pid;
events {{ worker_connections 512; }}
http {{
  access_log off;
  client_max_body_size 0;
  client_body_temp_path {at}/body; proxy_temp_path {at}/proxied;
  fastcgi_temp_path {at}/fastcgi; uwsgi_temp_path {at}/uwsgi; scgi_temp_path {at}/scgi;
  upstream nodes {{ {servers} keepalive 16; }}
  server {{
    listen 127.0.0.1:{port}{tls};
    {certificate}
    location / {{
      proxy_pass http://nodes;
      proxy_http_version 1.1;
      proxy_set_header Connection \"\";
      proxy_connect_timeout 1s;
      proxy_read_timeout {read}s;
      proxy_next_upstream {next};
    }}
  }}
}}
"
    )
}

fn haproxy(port: u16, hosts: &[&str], read: u64, repeats: bool) -> String {
    let servers: String = (0..).zip(hosts).map(|(at, host)| format!("  server n{at} {host}\n")).collect();
    let again = if repeats { "  retries 2\n  retry-on all-retryable-errors\n  option redispatch\n" } else { "" };
    // It only repeats a request that is in its buffer as a whole.
    format!(
        "global
  maxconn 256
  tune.bufsize 262144
defaults
  mode http
  timeout connect 1s
  timeout client 600s
  timeout server {read}s
{again}frontend proxy
  bind 127.0.0.1:{port}
  default_backend nodes
backend nodes
  balance roundrobin
{servers}"
    )
}

fn make_certificate(folder: &Path) {
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30"])
        .args(["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"])
        .arg("-keyout")
        .arg(folder.join("proxy.key"))
        .arg("-out")
        .arg(folder.join("proxy.crt"))
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}
