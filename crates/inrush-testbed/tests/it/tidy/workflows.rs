//! Actions of workflows are pinned by the hash of a commit, because a tag can be moved.

/// Whether a line names an action by a hash, and the version behind it.
fn is_pinned(action: &str) -> bool {
    let Some((reference, version)) = action.split_once(" # v") else { return false };
    let hash = reference.split_once('@').map_or("", |(_, hash)| hash);
    hash.len() == 40 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) && !version.is_empty()
}

#[test]
fn actions_are_pinned_by_a_commit() {
    let folder = super::workspace().join(".github/workflows");
    let mut actions = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        for action in text.lines().filter_map(|line| line.split_once("uses: ")) {
            actions += 1;
            assert!(is_pinned(action.1), "{}: {}", path.display(), action.1);
        }
    }
    assert!(actions > 0 && !is_pinned("actions/checkout@v5"));
}
