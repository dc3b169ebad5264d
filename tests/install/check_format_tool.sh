#!/usr/bin/env bash
# check_format_tool.sh ROOT: without clang-format, ./check continues and reports it, and ./check --format installs the
# formatter. The test's PATH has only a few tools and an apt-get that installs a formatter which records its calls.
set -eu
root=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/bin" "$folder/tree"
for tool in bash cat dirname env find grep head id mktemp rm sed sort tail xargs; do
    ln -s "$(command -v $tool)" "$folder/bin/$tool"
done
cp -r "$root/check" "$root/scripts" "$folder/tree"
for sources in include src study cli bench common tests examples docs; do
    mkdir "$folder/tree/$sources"
    touch "$folder/tree/$sources/a.c"
done
cat >"$folder/formatter" <<'END'
#!/bin/sh
[ "$1" = --version ] && echo "clang-format version 14.0.6" || echo "$@" >>"$0.calls"
END
cat >"$folder/bin/apt-get" <<END
#!/bin/sh
case "\$*" in
update*) ;;
*install*clang-format-14)
    cat "$folder/formatter" >"$folder/bin/clang-format-14"
    chmod +x "$folder/bin/clang-format-14"
    ;;
*) exit 1 ;;
esac
END
printf '#!/bin/sh\nexec "$@"\n' >"$folder/bin/sudo"
ln -s "$(command -v chmod)" "$folder/bin/chmod"
chmod +x "$folder/bin/apt-get" "$folder/bin/sudo"
cd "$folder/tree"

said=$(PATH=$folder/bin bash -euc 'program=./check; . scripts/packages.sh; . scripts/format.sh; check_format')
case $said in
*"not checked"*"./check --format installs it"*) ;;
*) echo "without clang-format ./check said: $said" >&2; exit 1 ;;
esac

PATH=$folder/bin ./check --format
grep -q -- '-i .*src/a.c' "$folder/bin/clang-format-14.calls"
