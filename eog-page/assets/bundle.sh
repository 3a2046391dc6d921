#!/usr/bin/env bash
# Makes vendor.js, vendor.css and vendor.LICENSES.txt of the libraries that package-lock.json names.
# Needed only when one of them is changed: what it makes is committed, and cargo needs no Node.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp package.json package-lock.json vendor.entry.js "$work"
(cd "$work" && npm ci --no-audit --no-fund --silent)
"$work/node_modules/.bin/esbuild" "$work/vendor.entry.js" --bundle --minify --format=iife \
    --global-name=vendor --target=es2020 --legal-comments=none --log-level=warning \
    --outfile=vendor.js
"$work/node_modules/.bin/esbuild" "$work/node_modules/uplot/dist/uPlot.min.css" --minify \
    --log-level=warning --outfile=vendor.css
: >vendor.LICENSES.txt
for package in @dagrejs/dagre @dagrejs/graphlib uplot; do
    {
        node -p "const p = require('$work/node_modules/$package/package.json'); \`\${p.name} \${p.version} (\${p.license})\`"
        cat "$work/node_modules/$package/LICENSE"
        printf '\n'
    } >>vendor.LICENSES.txt
done
