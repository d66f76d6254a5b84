#!/usr/bin/env bash
# Runs the bench of `explore` beside SPIN and Stateright; installs Debian's package where SPIN is missing. Arguments: [FAMILY [N]].
# Where a peer can be neither found nor made, the bench says so and runs without it.
set -e
cd "$(dirname "$0")/.."
command -v spin > /dev/null || apt-get install -y spin || echo "SPIN is missing and could not be installed"
peer=target/peers/release/stateright-peer
CARGO_TARGET_DIR=target/peers cargo build --release --manifest-path benches/peers/stateright/Cargo.toml ||
  echo "Stateright could not be built"
[ ! -x "$peer" ] || export STATERIGHT_PEER="$PWD/$peer"
cargo bench -p threadproof --bench explore -- "$@"
