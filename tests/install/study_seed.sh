#!/usr/bin/env bash
# study_seed.sh ROOT SEED PROGRAM: tests a seed's study. Runs its tests on invented records (study/test_seedSEED.py), if
# present. Then does a quick run, interrupts and continues it, and checks that its records give the same tables again.
# Also checks that the records in study/records are readable.
set -u
root=$1 seed=$2
export SPRY=$3
unset SPRY_MATRIX_DIR SPRY_CUDA_PLUGIN SPRY_CHOICES SPRY_TUNING
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

command -v python3 >/dev/null || { echo "no python3: not tested"; exit 0; }

fail()
{
    echo "$*"
    exit 1
}

tests=$root/tests/install/study/test_seed$seed.py
if [ -e "$tests" ]; then
    (cd "$folder" && python3 "$tests") || fail "$tests failed"
fi

# The script finds a Python with Matplotlib, or draws no figures.
"$root/study/run" "$seed" --quick --out "$folder/first" 2>"$folder/log" ||
    fail "study/run $seed --quick ended with status $?: $(tail -5 "$folder/log")"
grep -q 'A quick run' "$folder/first/report.md" || fail "report.md does not say that it is no result"
grep -q '^## Words$' "$folder/first/report.md" || fail "report.md does not tell what its words mean"
ls "$folder"/first/tables/*.md "$folder"/first/tables/*.csv >/dev/null || fail "there are no tables"
for picture in "$folder"/first/figures/*.png; do
    [ -e "$picture" ] || continue
    [ "$(stat -c %s "$picture")" -gt 5000 ] || fail "$picture is blank"
    grep -q 'id="axes_1"' "${picture%.png}.svg" || fail "${picture%.png}.svg has no axes"
done

# Removes the end of the last job. Only this job is measured again.
sed -i '$d' "$folder/first/records.jsonl"
"$root/study/run" "$seed" --quick --no-figures --out "$folder/first" 2>"$folder/log" >/dev/null ||
    fail "study/run $seed, interrupted, ended with status $?: $(tail -5 "$folder/log")"
[ "$(grep -c '^\[' "$folder/log")" = 1 ] || fail "a run that was interrupted does not go on: $(cat "$folder/log")"
"$root/study/run" "$seed" --no-figures --from "$folder/first/records.jsonl" --out "$folder/again" \
    2>"$folder/log" >/dev/null || fail "study/run $seed --from ended with status $?: $(tail -5 "$folder/log")"
diff -r "$folder/first/tables" "$folder/again/tables" || fail "records give other tables"

# Checks that records of earlier runs are readable.
(cd "$root/study" && python3 -B - "$seed" records/*/"$seed.jsonl.xz") <<'END' || fail "no records of study $seed"
import sys
from common import records
sys.exit(not records.read(sys.argv[2:], sys.argv[1]))
END
