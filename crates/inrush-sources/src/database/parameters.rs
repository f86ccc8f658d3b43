//! The parameters of addresses. One that is not known ends the load: the library ignores it, and it
//! may be one that asks for TLS.

use super::address::Product;

/// The parameters of an address of Postgres, MySQL, SQLite.
const POSTGRES: &[&str] = &[
    "sslmode",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "application_name",
    "options",
];
const MYSQL: &[&str] = &["ssl-mode", "ssl-ca", "ssl-cert", "ssl-key", "socket", "charset", "collation"];
const SQLITE: &[&str] = &["mode"];

/// Parameters of other drivers, without `-`, `_` and capitals, and what there is for them.
const TLS_OF_MYSQL: &str =
    "TLS is `ssl-mode=REQUIRED`, or `ssl-mode=VERIFY_IDENTITY` with the server's certificate checked";
const TLS_OF_POSTGRES: &str =
    "TLS is `sslmode=require`, or `sslmode=verify-full` with the server's certificate checked";
const OTHERS: &[(Product, &[&str], &str)] = &[
    (
        Product::MySql,
        &[
            "usessl",
            "requiressl",
            "verifyservercertificate",
            "trustservercertificate",
            "tls",
            "ssl",
            "tlsversion",
            "tlsversions",
            "enabledtlsprotocols",
            "trustcertificatekeystoreurl",
            "encrypt",
            "secure",
            "sslverify",
            "sslverifycert",
            "sslverifyservercert",
            "sslverifyidentity",
            "servercertificate",
            "disablesslhostnameverification",
        ],
        TLS_OF_MYSQL,
    ),
    (
        Product::Postgres,
        &["ssl", "requiressl", "tls", "usessl", "sslfactory", "encrypt", "trustservercertificate", "sslverify"],
        TLS_OF_POSTGRES,
    ),
    (
        Product::MySql,
        &["timezone", "servertimezone", "connectiontimezone", "forceconnectiontimezonetosession", "loc", "parsetime"],
        "rows are read in UTC; convert another zone in the query",
    ),
    (
        Product::MySql,
        &["tinyint1isbit", "transformedbitisboolean"],
        "select `column + 0` for the numbers of a TINYINT(1)",
    ),
    (
        Product::MySql,
        &["zerodatetimebehavior", "nodatetimestringsync"],
        "a day that does not exist is null, with a warning",
    ),
    (
        Product::MySql,
        &["characterencoding", "useunicode", "characterset", "charactersetresults"],
        "text is read as UTF-8",
    ),
    (Product::MySql, &["user", "password"], "they stand before the host: mysql://user:password@host/database"),
    (
        Product::Postgres,
        &["currentschema", "searchpath", "schema"],
        "give `options=-c search_path=NAME`, or name the schema in the query",
    ),
    (
        Product::Postgres,
        &["channelbinding", "gssencmode", "targetsessionattrs", "requireauth", "sslcrl", "sslnegotiation"],
        "it cannot be kept here; leave it out if that is no loss",
    ),
    (
        Product::Sqlite,
        &["immutable", "cache", "vfs", "nolock", "psow"],
        "the file is opened to be read only; leave it out",
    ),
];

impl Product {
    fn known(self) -> &'static [&'static str] {
        match self {
            Product::Postgres => POSTGRES,
            Product::MySql => MYSQL,
            Product::Sqlite => SQLITE,
        }
    }

    /// Whether the product has this parameter, and uses this value of it.
    pub(super) fn check(self, name: &str, value: &str) -> Result<(), String> {
        let known = self.known();
        // The library also takes these spellings.
        let is_known = match self {
            Product::Postgres => {
                ["ssl-mode", "ssl-root-cert", "ssl-ca", "ssl-cert", "ssl-key"].contains(&name)
                    || name.starts_with("options[")
            }
            Product::MySql => ["sslmode", "sslca", "sslcert", "sslkey"].contains(&name),
            Product::Sqlite => false,
        };
        if !is_known && !known.contains(&name) {
            let hint = self.hint(name).map(|hint| format!("; {hint}")).unwrap_or_default();
            return Err(format!(
                "the parameter {name:?} of the address is not known{hint}; the known ones are {}",
                known.join(", ")
            ));
        }
        match (self, name) {
            (Product::MySql, "charset") if value != "utf8mb4" => Err(format!(
                "the parameter \"charset\" of the address is {value:?}, but text is read as UTF-8; leave it out"
            )),
            (Product::Sqlite, "mode") if value != "ro" => Err(format!(
                "the parameter \"mode\" of the address is {value:?}, but the file is opened to be read only; leave it out"
            )),
            _ => Ok(()),
        }
    }

    /// What there is for a parameter of another driver.
    fn hint(self, name: &str) -> Option<String> {
        let plain = |name: &str| name.replace(['-', '_'], "").to_ascii_lowercase();
        let wanted = plain(name);
        if let Some(known) = self.known().iter().find(|known| plain(known) == wanted) {
            return Some(format!("did you mean `{known}`?"));
        }
        let of = OTHERS.iter().find(|(product, names, _)| *product == self && names.contains(&wanted.as_str()));
        of.map(|(.., hint)| (*hint).to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::super::DatabaseAddress;

    #[test]
    fn parameters_that_are_not_known_are_refused() {
        let check = |text: &str| DatabaseAddress::new(text).unwrap().check();
        for fine in [
            "mysql://root@h/db",
            "mariadb://root@h/db?ssl-mode=VERIFY_IDENTITY&ssl-ca=/ca.pem",
            "mysql://h/db?sslmode=REQUIRED&socket=%2Frun%2Fs&charset=utf8mb4#x?zzz=1",
            "postgres://h/db?sslmode=verify-full&sslrootcert=ca.pem&application_name=me&options=-c%20search_path%3Da",
            "postgresql://h/db?options[search_path]=a&host=/run",
            "sqlite:///a.db?mode=ro",
        ] {
            assert_eq!(check(fine), Ok(()), "{fine}");
        }
        for (text, expected) in [
            ("mysql://h/db?sslMode=VERIFY_IDENTITY", "did you mean `ssl-mode`?"),
            ("mysql://h/db?ssl_mode=REQUIRED", "did you mean `ssl-mode`?"),
            ("mysql://h/db?useSSL=true", "ssl-mode=VERIFY_IDENTITY"),
            ("mysql://h/db?requireSSL=true", "ssl-mode=REQUIRED"),
            ("mysql://h/db?tls=true", "ssl-mode=REQUIRED"),
            (
                "mysql://h/db?ssl-mode=REQUIRED&zzz=1",
                "the parameter \"zzz\" of the address is not known; the known ones are ssl-mode, ssl-ca",
            ),
            ("mysql://h/db?tinyInt1isBit=false", "select `column + 0`"),
            ("mysql://h/db?serverTimezone=Europe/Paris", "read in UTC"),
            ("mysql://h/db?charset=latin1", "text is read as UTF-8"),
            ("postgres://h/db?sslMode=require", "did you mean `sslmode`?"),
            ("postgres://h/db?ssl=true", "sslmode=require"),
            ("postgres://h/db?currentSchema=a", "search_path"),
            ("postgres://h/db?channel_binding=require", "leave it out"),
            ("postgres://h/db?connect_timeout=10", "the known ones are sslmode"),
            ("sqlite:///a.db?immutable=1", "read only"),
            ("sqlite:///a.db?mode=rwc", "read only"),
        ] {
            let problem = check(text).unwrap_err();
            assert!(problem.contains(expected), "{text}: {problem}");
        }
        assert!(!check("mysql://h/db?secretkey=hunter2").unwrap_err().contains("hunter2"));
    }
}
