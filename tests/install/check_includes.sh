#!/usr/bin/env bash
# check_includes.sh ROOT: #include lines of src, study, cli, bench and common go the ways that directions.txt states.
# Standard headers are free. The program sees the benchmark only through bench/bench.h, in
# cli/bench*.c and cli/tune_command.c.
set -u
cd "$1" || exit 1

mapfile -t files < <(find src study cli bench common -type f -regex '.*\.\(c\|h\|cu\|cuh\|cpp\)' | sort)
[ "${#files[@]}" -gt 0 ] || { echo "found no source files in $1" >&2; exit 1; }

awk '# The table: the line of each folder, as a regular expression of what its files may name in #include "...".
    FILENAME ~ /directions\.txt$/ {
        sub(/#.*/, "")
        if (NF == 0) next
        allowed = $1 ~ /\.cu$/ ? "" : "spry/(spry|io|solve|tools)\\.h|" $1 "/.*"
        if (allowed != "") folders = folders (folders == "" ? "" : "|") $1
        for (e = 2; e <= NF; e++)
            if ($e !~ /^=/ && $e != "public") {
                if (!sub(/\.h$/, "\\.h", $e)) $e = $e "/.*"
                allowed = allowed (allowed == "" ? "" : "|") $e
            }
        known[$1] = allowed
        next
    }
    FNR == 1 {
        folder = FILENAME
        sub(/^src\//, "", folder)
        sub(/\/.*/, "", folder)
        allowed = folder in known ? known[folder] : "nothing, since directions\\.txt does not have this folder"
        if (FILENAME ~ /\.cuh?$/ && known[folder ".cu"] != "") allowed = allowed "|" known[folder ".cu"]
        if (FILENAME ~ /^cli\/(bench[^\/]*\.[ch]|tune_command\.c)$/) allowed = allowed "|bench/bench\\.h"
    }
    /^[ \t]*#[ \t]*include[ \t]*"/ {
        name = $0
        gsub(/^[^"]*"|"[^"]*$/, "", name)
        beside = FILENAME # a name without a folder is a file beside this one
        sub(/[^\/]*$/, name, beside)
        if (name !~ /\// && (getline line < beside) >= 0) { close(beside); next }
        if (name !~ "^(" allowed ")$" || name ~ /\.\./) {
            print FILENAME " includes \"" name "\", which " folder "/ must not"
            bad = 1
        }
    }
    /^[ \t]*#[ \t]*include[ \t]*</ && $0 ~ "<(" folders ")/" {
        print FILENAME ": " $0 ": the project'"'"'s own files are included with \"\""
        bad = 1
    }
    END { exit bad }' tests/install/directions.txt "${files[@]}" >&2
