#!/usr/bin/env bash
# Completes command lines in zsh and fish as a person does, with names of a fake cluster. The tests
# of bash are in crates/inrush-cli/tests/it/cli/completions.rs.
# Usage: scripts/completions.sh [INRUSH [TESTBED]]   default: the builds of the tests
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/inrush/target}/debug
inrush=${1:-$target/inrush} testbed=${2:-$target/inrush-testbed}
if [ $# = 0 ]; then
  # The selection of `make unit`, so that nothing is compiled twice.
  cargo test --locked --quiet --workspace --features sql,cloud,databases,kafka --test it --no-run
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"; kill "$FAKE_PID" 2>/dev/null || true' EXIT
mkdir "$folder/bin"
ln -s "$(realpath "$inrush")" "$folder/bin/inrush"
export PATH=$folder/bin:$PATH XDG_STATE_HOME=$folder/state
coproc FAKE { exec "$testbed" fake; }
read -r url <&"${FAKE[0]}"
echo '{"a": 1}' | inrush load - --format ndjson --index orders-1 --to "$url" --quiet
echo '{"a": 1}' | inrush load - --format ndjson --index orders-2 --to "$url" --quiet

expect() { # shell, line, expected words…
  local shell=$1 line=$2 said
  shift 2
  said=$("$shell"_completes "$line")
  for word in "$@"; do
    grep -qF -e "$word" <<<"$said" || {
      printf '%s completes `%s` to:\n%s\nexpected: %s\n' "$shell" "$line" "$said" "$word" >&2
      exit 1
    }
  done
}

inrush completions zsh >"$folder/_inrush"
# A zsh with a terminal gets the line and two tabs, and lists what fits.
zsh_completes() {
  FOLDER=$folder LINE=$1 zsh -f <<'ZSH'
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1='ready> '; fpath=($FOLDER \$fpath); autoload -Uz compinit; compinit -u -d $FOLDER/dump; setopt auto_list; bindkey '^I' complete-word; stty columns 200; echo begin''s"
zpty -r -m shell seen '*begins*ready> '
zpty -w -n shell "$LINE"$'\t\t'
# The line ends with a command that prints a mark once the completion is done.
zpty -w -n shell $'\C-a#\C-e\n'
zpty -w shell "echo end''s"
zpty -r -m shell seen '*ends*'
print -r -- "$seen"
zpty -d shell
ZSH
}

inrush completions fish >"$folder/inrush.fish"
fish_completes() {
  fish --no-config -c "source $folder/inrush.fish; complete -C '$1'"
}

for shell in zsh fish; do
  command -v "$shell" >/dev/null || { echo "$shell is not installed; run scripts/install-tools.sh" >&2; exit 1; }
  expect "$shell" "inrush verif" verify
  expect "$shell" "inrush load a.csv --format nd" ndjson
  expect "$shell" "inrush load a.csv --to $url --index ord" orders-1 orders-2
  expect "$shell" "inrush verify a.csv --to $url --index=ord" orders-1 orders-2
  echo "$shell completes commands, values and names"
done
