#!/usr/bin/env bash
# check_includes.sh ROOT: #include lines of src, study, cli, bench and common follow the directions of directions.txt.
# Standard headers are allowed everywhere. The program includes only bench/bench.h of the benchmark, and only in
# cli/bench*.[ch] and cli/tune_command.c.
set -u
cd "$1" || exit 1

mapfile -t files < <(find src study cli bench common -type f -regex '.*\.\(c\|h\|cu\|cuh\|cpp\)' | sort)
[ "${#files[@]}" -gt 0 ] || { echo "found no source files in $1" >&2; exit 1; }

awk 'function folder_of(path) { # the longest folder of the table that has the file
        while (sub(/\/[^\/]*$/, "", path)) if (path in known) return path
        return path
    }
    function allows(entries, name, count, entry, e) { # an entry is the header, or its folder
        count = split(entries, entry, " ")
        for (e = 1; e <= count; e++)
            if (name == entry[e] ||
                (index(name, entry[e] "/") == 1 && length(folder_of(name)) <= length(entry[e]))) return 1
        return 0
    }
    FILENAME ~ /directions\.txt$/ { # the table: what the files of each folder may name in #include "..."
        sub(/#.*/, "")
        if (NF == 0) next
        known[$1] = $1
        for (e = 2; e <= NF; e++) if ($e !~ /^=/ && $e != "public") known[$1] = known[$1] " " $e
        if ($1 !~ /\.cu$/) folders = folders (folders == "" ? "" : "|") $1
        next
    }
    FNR == 1 {
        folder = FILENAME
        sub(/^src\//, "", folder)
        folder = folder_of(folder)
        if (!(folder in known)) {
            print "directions.txt does not have the folder " folder "/ of " FILENAME
            bad = 1
        }
        entries = known[folder]
        if (FILENAME ~ /\.cuh?$/) entries = entries " " known[folder ".cu"]
        if (FILENAME ~ /^cli\/(bench[^\/]*\.[ch]|tune_command\.c)$/) entries = entries " bench/bench.h"
    }
    /^[ \t]*#[ \t]*include[ \t]*"/ {
        name = $0
        gsub(/^[^"]*"|"[^"]*$/, "", name)
        beside = FILENAME # a name without a folder is a file in the same folder
        sub(/[^\/]*$/, name, beside)
        if (name !~ /\// && (getline line < beside) >= 0) { close(beside); next }
        if (name ~ /^spry\/[a-z]+\.h$/) next
        if (!allows(entries, name) || name ~ /\.\./) {
            print FILENAME " includes \"" name "\", which " folder "/ must not"
            bad = 1
        }
    }
    /^[ \t]*#[ \t]*include[ \t]*</ && $0 ~ "<(" folders ")/" {
        print FILENAME ": " $0 ": the project'"'"'s own files are included with \"\""
        bad = 1
    }
    END { exit bad }' tests/install/directions.txt "${files[@]}" >&2
