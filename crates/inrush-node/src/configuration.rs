//! The configuration of a node: the maker's files, and a settings file of this program.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::distribution::KnownProduct;
use super::spec::NodeSpec;

/// The folders of a node, and its ports.
#[derive(Debug)]
pub(super) struct Places<'a> {
    /// The unpacked distribution.
    pub(super) home: &'a Path,
    pub(super) config: &'a Path,
    pub(super) data: &'a Path,
    pub(super) logs: &'a Path,
    pub(super) port: u16,
    pub(super) transport_port: u16,
}

/// Writes the folder that the node reads its configuration from.
pub(super) fn write(spec: &NodeSpec, places: &Places<'_>) -> io::Result<()> {
    let settings_file = format!("{}.yml", spec.distribution.name());
    let keystore = format!("{}.keystore", spec.distribution.name());
    // The plugins of a full distribution expect their folders there.
    copy(&places.home.join("config"), places.config, &[&settings_file, &keystore])?;
    give_secrets(spec, &places.home.join("config").join(&keystore), &places.config.join(&keystore))?;
    // The launcher changes into the distribution's folder, which the node's user can only read, so
    // the paths become absolute. It splits options at spaces. The path of the logs has none, that
    // of the data may have some.
    let options = fs::read_to_string(places.home.join("config/jvm.options"))?
        .replace("=logs/", &format!("={}/", places.logs.display()))
        .replace("-Xloggc:logs/", &format!("-Xloggc:{}/", places.logs.display()))
        .replace("HeapDumpPath=data", &format!("HeapDumpPath={}", places.logs.display()));
    fs::write(places.config.join("jvm.options"), options)?;
    let text: String = settings(spec, places).iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
    fs::write(places.config.join(settings_file), text)
}

/// Copies the keystore of a server that the user named, readable for the node's user only. Other
/// keystores may hold secrets of another cluster, so they are not copied, and one that an earlier
/// start left here is deleted.
fn give_secrets(spec: &NodeSpec, from: &Path, to: &Path) -> io::Result<()> {
    match fs::remove_file(to) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    if spec.home.is_none() || !from.exists() {
        return Ok(());
    }
    let secrets = fs::read(from)?;
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?.write_all(&secrets)
}

fn settings(spec: &NodeSpec, places: &Places<'_>) -> Vec<(String, String)> {
    let mut settings: Vec<(String, String)> = Vec::new();
    let mut set = |name: &str, value: String| settings.push((name.to_owned(), value));
    set("cluster.name", format!("inrush-{}", spec.name));
    set("node.name", spec.name.clone());
    set("path.data", quoted(places.data));
    set("path.logs", quoted(places.logs));
    set("network.host", "127.0.0.1".to_owned());
    set("http.port", places.port.to_string());
    set("transport.port", places.transport_port.to_string());
    set("discovery.type", "single-node".to_owned());
    // A developer's disk is often fuller than a server's may be. A node with little data does no
    // harm there.
    set("cluster.routing.allocation.disk.threshold_enabled", "false".to_owned());
    match spec.distribution.product {
        KnownProduct::Elasticsearch => {
            set("xpack.security.enabled", "false".to_owned());
            if spec.home.is_some() {
                // Otherwise the node refuses a keystore with passwords for them, which it creates
                // itself at its first start.
                set("xpack.security.http.ssl.enabled", "false".to_owned());
                set("xpack.security.transport.ssl.enabled", "false".to_owned());
            }
        }
        // Without certificates the plugin does not let the node start. Without the plugin the node
        // does not accept the setting.
        KnownProduct::OpenSearch if places.home.join("plugins/opensearch-security").is_dir() => {
            set("plugins.security.disabled", "true".to_owned());
        }
        KnownProduct::OpenSearch => {}
    }
    for (name, value) in &spec.settings {
        settings.retain(|(other, _)| other != name);
        // An empty value removes a setting of this program.
        if !value.is_empty() {
            settings.push((name.clone(), value.clone()));
        }
    }
    settings
}

/// A path as a string of YAML, written as a JSON string: it may contain a colon or a hash.
fn quoted(path: &Path) -> String {
    serde_json::Value::from(path.display().to_string()).to_string()
}

/// Copies a folder and everything in it, except these names at its top.
fn copy(from: &Path, to: &Path, without: &[&str]) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if without.iter().any(|other| name == *other) {
            continue;
        }
        if entry.path().is_dir() {
            copy(&entry.path(), &to.join(name), &[])?;
        } else {
            fs::copy(entry.path(), to.join(name))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::super::distribution::Distribution;
    use super::*;

    fn written(plugin: Option<&str>, product: Distribution, own: &[(&str, &str)]) -> (tempfile::TempDir, String) {
        written_with(plugin, product, own, false)
    }

    fn written_with(
        plugin: Option<&str>,
        product: Distribution,
        own: &[(&str, &str)],
        named: bool,
    ) -> (tempfile::TempDir, String) {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        fs::create_dir_all(home.join("config/opensearch-security")).unwrap();
        fs::write(home.join("config/opensearch-security/roles.yml"), "x").unwrap();
        fs::write(home.join("config/opensearch.yml"), "http.port: 1\n").unwrap();
        fs::write(home.join("config/opensearch.keystore"), "secret").unwrap();
        fs::write(home.join("config/jvm.options"), "-XX:HeapDumpPath=data\n-XX:ErrorFile=logs/e\n8:-Xloggc:logs/g\n")
            .unwrap();
        if let Some(plugin) = plugin {
            fs::create_dir_all(home.join("plugins").join(plugin)).unwrap();
        }
        let settings_file = format!("{}.yml", product.name());
        let mut spec = NodeSpec::new(product, "n", folder.path());
        spec.home = named.then(|| home.clone());
        spec.settings = own.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let config = folder.path().join("config");
        let places = Places {
            home: &home,
            config: &config,
            data: Path::new("/d #1"),
            logs: Path::new("/l"),
            port: 5,
            transport_port: 6,
        };
        write(&spec, &places).unwrap();
        let text = fs::read_to_string(config.join(settings_file)).unwrap();
        (folder, text)
    }

    #[test]
    fn what_the_maker_ships_is_there_but_its_settings_and_secrets() {
        let (folder, text) = written(None, Distribution::opensearch("3.6.0"), &[]);
        let config = folder.path().join("config");
        assert!(config.join("opensearch-security/roles.yml").is_file());
        assert!(!config.join("opensearch.keystore").exists());
        assert!(text.contains("http.port: 5\n") && text.contains("path.data: \"/d #1\"\n"), "{text}");
        let options = fs::read_to_string(config.join("jvm.options")).unwrap();
        assert_eq!(options, "-XX:HeapDumpPath=/l\n-XX:ErrorFile=/l/e\n8:-Xloggc:/l/g\n");
    }

    #[test]
    fn the_keystore_of_a_server_that_was_named_comes_along() {
        let (folder, _) = written_with(None, Distribution::opensearch("3.6.0"), &[], true);
        let keystore = folder.path().join("config/opensearch.keystore");
        assert_eq!(fs::read_to_string(&keystore).unwrap(), "secret");
        assert_eq!(fs::metadata(&keystore).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn security_is_off_in_each_products_way() {
        let opensearch = || Distribution::opensearch("3.6.0");
        assert!(!written(None, opensearch(), &[]).1.contains("security"));
        let (_, text) = written(Some("opensearch-security"), opensearch(), &[]);
        assert!(text.contains("plugins.security.disabled: true\n"), "{text}");
        let (_, text) = written(None, Distribution::elasticsearch("8.19.21"), &[]);
        assert!(text.contains("xpack.security.enabled: false\n"), "{text}");
    }

    #[test]
    fn own_settings_win_and_an_empty_one_takes_ours_out() {
        let own = [("discovery.type", ""), ("network.host", "127.0.0.2"), ("node.attr.x", "y")];
        let (_, text) = written(None, Distribution::opensearch("3.6.0"), &own);
        assert!(!text.contains("discovery.type") && !text.contains("127.0.0.1"), "{text}");
        assert!(text.contains("network.host: 127.0.0.2\n") && text.contains("node.attr.x: y\n"), "{text}");
    }
}
