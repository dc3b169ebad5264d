#!/usr/bin/env bash
# doc_site.sh ROOT WORK LIBRARY NM: the site of the documentation is built without a warning; every link and anchor
# within it resolves; nothing is fetched from a network; and every function that the library exports is in the reference
# of the headers, with every struct and enum of theirs. Ends with status 77 where the generator is missing (docs/build
# tells which packages).
set -eu
root=$1 work=$2/site library=$3 nm=$4
here=$root/tests/install

rm -rf "$work" "$work.doctrees"
status=0
"$root/docs/build" --no-install "$work" >"$2/site.log" 2>&1 || status=$?
if [ $status != 0 ]; then
    cat "$2/site.log"
    exit $status
fi
python3 -B "$here/doc_links.py" "$work"

{
    "$nm" -D --defined-only "$library" | awk '$2 == "T" && $3 ~ /^spry_/ { sub(/@.*/, "", $3); print $3 }'
    sed -n -E 's/^typedef (struct|enum) (spry_[a-z0-9_]+) \{.*/\2/p' "$root"/include/spry/*.h
} | sort -u >"$work/names"
[ "$(wc -l <"$work/names")" -gt 100 ] || { echo "the library exports next to nothing" >&2; exit 1; }
missing=0
while read -r name; do
    if ! grep -qF "id=\"c.$name\"" "$work"/docs/reference/api/*.html; then
        echo "$name is not in the reference" >&2
        missing=$((missing + 1))
    fi
done <"$work/names"
exit $((missing > 0))
