#!/usr/bin/env bash
# study_scripts.sh ROOT: study/compare.py on records whose figures are known.
set -u
root=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

if ! command -v python3 >/dev/null; then
    echo "no python3: not tested"
    exit 0
fi

record() # MATRIX KERNEL PEER TIME STATUS
{
    printf '{"op":"spmv","matrix":"%s","type":"f64","index":"32/32","format":"csr",' "$1"
    printf '"kernel":"%s","peer":%s,' "$2" "$3"
    printf '"time_us":%s,"spread_us":1,"setup_us":10,"roof":null,"status":"%s","reason":""}\n' "$4" "$5"
}

expect() # STATUS TEXT ARGUMENT...: the script's exit status, and what it has to print
{
    local status=$1 text=$2 out
    shift 2
    out=$(cd "$folder" && python3 "$root/study/compare.py" "$@" 2>&1)
    if [ $? != "$status" ] || ! grep -qF -- "$text" <<<"$out"; then
        printf 'compare.py %s: expected status %s and "%s", got\n%s\n' "$*" "$status" "$text" "$out"
        failed=1
    fi
}

{
    record a ours false 10 ok
    record a slow false 30 ok
    record a p1 true 20 ok
    record a p2 true 40 ok
    record a p3 true null skipped
    record b ours false 10 ok
    record b p1 true 80 ok
    record b p2 true 5 ok
    echo '{"regret":{"matrix":"b","loss":1}}'
} >"$folder/one.jsonl"
{
    record a ours false 100 ok
    record a other true 300 ok
} >"$folder/two.jsonl"
record a p1 true null wrong >"$folder/wrong.jsonl"
expect 0 'Geometric mean of the ratios 4.00, lowest 2.00' one.jsonl --kernel ours --against p1
expect 0 'Geometric mean of the ratios 1.00, lowest 0.50' one.jsonl --kernel ours --against best
expect 0 'Geometric mean of the ratios 1.00, lowest 0.50' one.jsonl --kernel best --against p1,p2
expect 0 'Beside these: a f64 p3: skipped' one.jsonl --kernel ours --against p1
expect 1 'Not compared: a f64 p3: skipped' one.jsonl --kernel ours --against p3
expect 1 'Not compared: b f64: no result of slow' one.jsonl --kernel slow --against p1
# Both sides of a ratio are of one run: 300 over 100, never 300 over 10.
expect 1 'Geometric mean of the ratios 3.00, lowest 3.00' one.jsonl two.jsonl --kernel ours --against other
expect 1 'Not compared: a f64 p1: wrong' one.jsonl wrong.jsonl --kernel ours --against p2
exit $failed
