#!/usr/bin/env bash
# Runs the bench of `explore` beside SPIN; installs Debian's package where SPIN is missing. Arguments: [FAMILY [N]].
set -e
cd "$(dirname "$0")/.."
command -v spin > /dev/null || apt-get install -y spin
cargo bench -p threadproof --bench explore -- "$@"
