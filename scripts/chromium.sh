#!/usr/bin/env bash
# Installs Debian's Chromium, with which tests/browser look at the pages, unless one is there already.
set -euo pipefail
if [ -n "${CHROMIUM:-}" ]; then
    exit 0
fi
for name in chromium chromium-browser google-chrome; do
    if command -v "$name" > /dev/null; then
        exit 0
    fi
done
if [ "$(id -u)" != 0 ] || ! command -v apt-get > /dev/null || ! grep -qE '^ID=debian$' /etc/os-release; then
    echo "No Chromium was found: install it (on Debian as root: apt-get install chromium), or name it with CHROMIUM" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -qq -y --no-install-recommends chromium fonts-dejavu-core > /dev/null
