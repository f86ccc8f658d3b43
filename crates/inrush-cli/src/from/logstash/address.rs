//! Addresses of clusters, and logins.

use super::pipeline::Plugin;
use crate::from::{Address, Translation};

/// The addresses of a cluster, and a user that one of them has. Secrets are left out.
pub(super) fn hosts(plugin: &Plugin, port: fn(&str) -> u16, to: &mut Translation) -> (Vec<String>, Option<String>) {
    let is_on = |name| plugin.text(name) == Some("true");
    let scheme = if is_on("ssl") || is_on("ssl_enabled") { "https" } else { "http" };
    let mut user = None;
    let mut hosts = Vec::new();
    let given = plugin.texts("hosts");
    for host in if given.is_empty() { vec!["localhost:9200"] } else { given } {
        // Its own default is 9200 where it has no scheme.
        let read = if host.contains("://") {
            Address::read(host, port)
        } else {
            Address::read(&format!("{scheme}://{}", host.trim_start_matches('/')), |_| 9200)
        };
        match read {
            Some(mut address) => {
                let above = plugin.text("path").unwrap_or_default().trim_matches('/');
                if !above.is_empty() {
                    address.path = above.to_owned();
                }
                hosts.push(address.whole());
                user = user.or(address.user);
            }
            None => to.refuse(&format!("hosts of the {} {}", plugin.section, plugin.name), "it is not an address"),
        }
    }
    (hosts, user)
}

/// The login of a plugin, whose `user` takes precedence over those of other settings.
pub(super) fn login(plugin: &Plugin, of_host: Option<String>, flag: &str, variable: &str, to: &mut Translation) {
    let of_cloud = plugin.text("cloud_auth").and_then(|login| login.split(':').next());
    if let Some(user) = plugin.text("user").or(of_cloud).or(of_host.as_deref()) {
        to.login(flag, variable, Some(user));
    }
}
