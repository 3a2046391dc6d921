#!/usr/bin/env bash
# Writes the pages that the tests open: pages.sh FOLDER. What data sets lack is left out, and said.
set -euo pipefail
out=$1
root=$(cd "$(dirname "$0")/../../.." && pwd)
shared="$root/../shared"
[ -d "$shared" ] || shared="$root/../../shared"

# page NAME ARGUMENTS…: an investigation and its report.html.
page() {
    local name=$1 code=0
    shift
    "$EOG" investigate "$@" --out "$out/results/$name" --quiet >/dev/null 2>&1 || code=$?
    # 3 is an investigation without an origin, which has a page all the same.
    [ "$code" = 0 ] || [ "$code" = 3 ] || { echo "browser: $name ended with code $code"; exit 1; }
    cp "$out/results/$name/report.html" "$out/$name.html"
}

page flash-sale "$root/examples/flash-sale"
page bottling-line "$root/examples/bottling-line"
page beam "$root/examples/flash-sale" --controller beam
page lats "$root/examples/flash-sale" --controller lats
page linear "$root/examples/flash-sale" --controller linear
# A ledger alone, without its bundle.
"$EOG" report "$out/results/flash-sale" --html "$out/no-source.html"
node "$root/eog-page/tests/browser/hostile.mjs" "$out/hostile-bundle"
page hostile "$out/hostile-bundle"

if [ -d "$shared/data/itbench/scenario-2-partial" ]; then
    page scenario-2 "$shared/data/itbench/scenario-2-partial" \
        --architecture "$shared/data/itbench/architecture.json"
else
    echo "browser: scenario 2 is left out, its recording is not here"
fi
if [ -d "$shared/data/petshop/low_traffic" ]; then
    "$EOG" eval petshop "$shared/data/petshop/low_traffic" --out "$out/petshop" >/dev/null
    first=$(find "$out/petshop" -name '*.jsonl' ! -name 'normal*' | sort | head -1)
    "$EOG" report "$first" --html "$out/petshop.html"
else
    echo "browser: PetShop is left out, the data set is not here"
fi
if [ -f "$shared/tools/many_changes.py" ]; then
    python3 "$shared/tools/many_changes.py" 1000 "$out/many"
    page many "$out/many"
else
    echo "browser: the bundle of 1,000 changes is left out, its generator is not here"
fi
