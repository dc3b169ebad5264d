#!/usr/bin/env bash
# doc_site.sh ROOT WORK LIBRARY NM: the documentation's site is built without warnings. Each link and anchor within the
# site resolves, and nothing is fetched from a network. The reference of the headers contains each exported function,
# and each struct and enum of the headers. Ends with status 77 if the generator is missing (docs/build lists the
# packages).
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
