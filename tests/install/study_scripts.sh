#!/usr/bin/env bash
# study_scripts.sh ROOT: tests study/compare.py and study/tune_sizes.py on records with known figures, and
# study/matrices on tiny matrices.
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

run() # STATUS TEXT SCRIPT ARGUMENT...: the script's exit status, and what it has to print
{
    local status=$1 text=$2 out
    shift 2
    out=$(cd "$folder" && python3 -B "$root/study/$1" "${@:2}" 2>&1)
    if [ $? != "$status" ] || ! grep -qF -- "$text" <<<"$out" || grep -q Traceback <<<"$out"; then
        printf '%s: expected status %s and "%s", got\n%s\n' "$*" "$status" "$text" "$out"
        failed=1
    fi
}

expect() # STATUS TEXT ARGUMENT...: of compare.py
{
    run "$1" "$2" compare.py "${@:3}"
}

refuse() # PROGRAM TEXT ARGUMENT...: what tune_sizes.py reports if it runs this program
{
    SPRY=$1 run 1 "$2" tune_sizes.py "${@:3}"
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
expect 0 'Also skipped: a f64 p3: skipped' one.jsonl --kernel ours --against p1
expect 1 'Not compared: a f64 p3: skipped' one.jsonl --kernel ours --against p3
expect 1 'Not compared: b f64: no result of slow' one.jsonl --kernel slow --against p1
# Both times of a ratio come from one run: 300 is divided by 100, not by the 10 of the other run.
expect 1 'Geometric mean of the ratios 3.00, lowest 3.00' one.jsonl two.jsonl --kernel ours --against other
expect 1 'Not compared: a f64 p1: wrong' one.jsonl wrong.jsonl --kernel ours --against p2
echo '{"command":"bench","matrix":"c","status":"failed","reason":"c.mtx: cannot be read"}' >"$folder/failed.jsonl"
expect 1 'Not compared: c: failed, c.mtx: cannot be read' one.jsonl failed.jsonl --kernel ours --against p1
for line in '{}' '[]' '{"op":"spmv","matrix":"a"}'; do
    echo "$line" >"$folder/other.jsonl"
    expect 1 'other.jsonl:1: not a record of spry bench, expected an object with op, matrix' other.jsonl
done

for nnz in 0 5; do
    printf '#!/bin/sh\necho "{\\"nnz\\": %s}"\n' $nnz >"$folder/nnz$nnz"
done
printf '#!/bin/sh\nexit 9\n' >"$folder/nvidia-smi"
chmod +x "$folder"/nnz* "$folder/nvidia-smi"
refuse /bin/true '/nonexist/x: No such file or directory' -o /nonexist/x
refuse /bin/true '/bin/true: spry info a.mtx --json ended with status 0 and printed no JSON; set SPRY' a.mtx -o x
refuse /bin/echo 'set SPRY' a.mtx -o x
refuse "$folder/none" "$folder/none: cannot be run" a.mtx -o x
refuse "$folder/nnz0" 'a.mtx has no entries' a.mtx -o x
PATH=$folder:$PATH refuse "$folder/nnz5" 'compute capability of the GPU is unknown' a.mtx -o x --device cuda
[ ! -e "$folder/x" ] || { echo "tune_sizes.py wrote a file without a result"; failed=1; }

# The search finds a known formula if times are least at its sizes. At the end, the times of (4, 2) and (16, 8) differ
# by less than 1 %, and the geometric mean (8, 4) of both sizes is chosen.
PYTHONPATH=$root/study python3 -B - >"$folder/log" <<'END' || { cat "$folder/log"; failed=1; }
import os
import runpy
import sys

import tune_sizes

densities = [3, 5, 7, 9, 13, 20, 27, 40, 76]
srs, ssrs = (-12, -12), (44, 8)
wanted = [(tune_sizes.size_by(srs, d), tune_sizes.size_by(ssrs, d)) for d in densities]
swept = [{"density": d, "levels": 3, "times": {s: 50 + abs(s[0] - a) + abs(s[1] - b)
                                               for s in tune_sizes.sizes_of("cuda", 3)}}
         for d, (a, b) in zip(densities, wanted)]
sizes_by, lines = tune_sizes.fit(swept, "cuda")
assert [sizes_by(d) for d in densities] == wanted, lines
assert sizes_by(1e9) == (32, 8), lines
assert lines[2] == "cuda whole 8 32", lines
assert abs(tune_sizes.search(swept)[2] - 1) < 1e-12
for s in swept[1]["times"]:  # no formula gives size 32 for density 5 and size 8 for densities 3 and 7
    swept[1]["times"][s] = 50 + abs(s[0] - 32)
assert tune_sizes.search(swept)[2] > 1.01
assert [len(tune_sizes.sizes_of("cpu", k)) for k in (2, 3)] == [18, 90]
times = {(4, 2): 100, (8, 2): 120, (16, 8): 100.5}
sizes_by, lines = tune_sizes.fit([{"density": 5, "levels": 3, "times": times}], "cpu")
assert sizes_by(5) == (8, 4) and lines == ["cpu csr3 8 4"], lines


def interrupt(*unused):
    raise KeyboardInterrupt


def message_of(function, *arguments, **named):
    try:
        function(*arguments, **named)
    except SystemExit as error:
        return error.code
    return None


assert "on standard output" in message_of(tune_sizes.write, "/nonexist/x", ["cpu csr3 8 4"])
tune_sizes.jobs.Run.lines = interrupt
sys.argv = ["tune_sizes.py", "-o", os.devnull]
assert "interrupted" in message_of(runpy.run_path, tune_sizes.__file__, run_name="__main__")
END
python3 -B "$root/tests/install/study/test_matrices.py" 2>"$folder/log" || { cat "$folder/log"; failed=1; }
exit $failed
