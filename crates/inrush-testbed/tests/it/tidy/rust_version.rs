//! The minimum Rust version of the workspace is enough for the crates that it builds on. Lints hold
//! it for the workspace's own code (clippy's `incompatible_msrv`).

use std::process::Command;

use serde_json::Value;

/// A version as numbers: a missing part is zero.
fn numbers(version: &str) -> [u64; 3] {
    let mut numbers = [0; 3];
    for (place, part) in numbers.iter_mut().zip(version.split('.')) {
        *place = part.parse().unwrap();
    }
    numbers
}

#[test]
fn dependencies_build_with_the_minimum_rust_version() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--format-version", "1"])
        .current_dir(super::workspace())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let ours = env!("CARGO_PKG_RUST_VERSION");
    let newer: Vec<String> = packages
        .iter()
        .filter_map(|package| Some((package, package["rust_version"].as_str()?)))
        .filter(|(_, theirs)| numbers(theirs) > numbers(ours))
        .map(|(package, theirs)| format!("{} {} wants Rust {theirs}", package["name"], package["version"]))
        .collect();
    assert!(packages.len() > 100 && newer.is_empty(), "the workspace promises Rust {ours}: {newer:?}");
}
