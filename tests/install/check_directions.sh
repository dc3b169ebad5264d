#!/usr/bin/env bash
# check_directions.sh ROOT NM LIST...: checks that symbols are used only in the directions of directions.txt. The lists
# name object files that are linked together. If objects of one folder need a symbol that another folder defines, the
# table must contain this dependency. check_includes.sh checks headers.
set -u
root=$1 nm=$2
shift 2

cat "$@" | tr '\n' '\0' | xargs -0 "$nm" -A -g -f posix | awk -v table="$root/tests/install/directions.txt" '
    function folder_of(path) { # the longest folder of the table that has the file or is it
        while (!(path in folders) && sub(/\/[^\/]*$/, "", path)) continue
        return path
    }
    BEGIN {
        while ((getline line < table) > 0) {
            sub(/#.*/, "", line)
            lines[++rows] = line
            if (split(line, entry, " ") > 0) folders[entry[1]] = 1
        }
        for (r = 1; r <= rows; r++) {
            count = split(lines[r], entry, " ")
            for (e = 2; e <= count; e++) {
                sub(/^=/, "", entry[e])
                known[entry[1], folder_of(entry[e])] = 1
            }
        }
    }
    # "PATH/spry_objects.dir/src/FOLDER/FILE.o: NAME TYPE [VALUE SIZE]", or generated/ in place of src/
    { file = $1; sub(/:$/, "", file); sub(/.*\.dir\/(\.\/)?((src|generated)\/)?/, "", file); folder = folder_of(file) }
    !(folder in folders) { print file ": directions.txt does not have its folder"; bad = 1 }
    $3 ~ /^[TDRBC]$/ { home[$2] = folder; from[$2] = file }
    $3 == "U" { needed[++needs] = $2; by[needs] = folder; user[needs] = file }
    END {
        for (n = 1; n <= needs; n++) {
            name = needed[n]
            if (!(name in home) || home[name] == by[n]) continue
            arrows++
            if (known[by[n], home[name]]) continue
            if (user[n] ~ /\.cu\./ && known[by[n] ".cu", home[name]]) continue
            if (name ~ /^spry_/ && known[by[n], "public"]) continue
            print user[n] " needs " name " of " from[name] ": " by[n] " must not know " home[name]
            bad = 1
        }
        if (arrows == 0) { print "found no arrow between folders"; bad = 1 }
        exit bad
    }' >&2
