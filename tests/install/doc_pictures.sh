#!/usr/bin/env bash
# doc_pictures.sh ROOT PROGRAM: the tutorial's pictures show the arrays that the program creates. The picture in
# README.md and the tables of docs/performance.md show the records of bench/records.
set -eu
root=$1 program=$2
if ! command -v python3 >/dev/null; then
    echo "no python3: not tested"
    exit 77
fi
python3 -B "$root/docs/tutorial/draw.py" "$program" --check
python3 -B "$root/docs/pictures/draw_mesh.py" --check
python3 -B "$root/bench/records/tables.py" --check
# Checks that a wrong picture is detected.
wrong=$(mktemp -d)
trap 'rm -rf "$wrong"' EXIT
mkdir -p "$wrong/docs" "$wrong/examples/data"
cp -r "$root/docs/tutorial" "$wrong/docs"
sed 's/^5 8 58$/5 8 59/' "$root/examples/data/eight.mtx" >"$wrong/examples/data/eight.mtx"
if python3 -B "$wrong/docs/tutorial/draw.py" "$program" --check 2>/dev/null; then
    echo "pictures of another matrix pass as those of this one" >&2
    exit 1
fi
mkdir -p "$wrong/bench"
cp -r "$root/bench/records" "$wrong/bench"
cp "$root/docs/performance.md" "$wrong/docs"
sed -i '/^fem3\tf64\t/s/[0-9.]*$/9.99/' "$wrong"/bench/records/*/mesh.tsv
if python3 -B "$wrong/bench/records/tables.py" --check 2>/dev/null; then
    echo "tables of other records pass as those of bench/records" >&2
    exit 1
fi
