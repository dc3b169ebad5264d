#!/usr/bin/env bash
# install_parts.sh ROOT BUILD WORK CMAKE: installs a copy of the build, whole and with each program or module missing.
# Existing files are installed, and each missing file is reported.
set -eu
root=$1 build=$2 work=$3/parts cmake=$4

if grep -rn --include=CMakeLists.txt --include='*.cmake' 'install(TARGETS' "$root/CMakeLists.txt" "$root/cmake" \
    "$root/bench" "$root/bindings/petsc" | grep -v '/SpryInstall.cmake:'; then
    echo "the lines above install targets: expected spry_install, which leaves out what was not built" >&2
    exit 1
fi

rm -rf "$work"
mkdir -p "$work/build"
cd "$build"
find . \( -path ./patches -o -path './tests/install/*/*' \) -prune -o \
    -name cmake_install.cmake -exec cp --parents {} "$work/build" \;
cd - >/dev/null
find "$work/build" -name cmake_install.cmake -exec sed -i "s#$build/#$work/build/#g" {} +
# Lists the files of programs and modules that the scripts install, without the library.
mapfile -t files < <(find "$work/build" -name cmake_install.cmake -exec grep -oh "\"$work/build/[^\"]*\"" {} + |
    tr -d '"' | sed "s#$work/build/##" | grep -v cmake_install | sort -u)
parts=()
for file in "${files[@]}"; do
    case $file in
    libspry.so* | cmake/* | CMakeFiles/*) ;;
    *) [ ! -f "$build/$file" ] || parts+=("$file") ;;
    esac
    if [ -e "$build/$file" ]; then (cd "$build" && cp -a --parents "$file" "$work/build"); fi
done
status=0

install_all() # WHAT: what is missing
{
    rm -rf "$work/prefix"
    if ! "$cmake" --install "$work/build" --prefix "$work/prefix" >"$work/log" 2>&1; then
        echo "without $1:" >&2
        cat "$work/log" >&2
        status=1
    fi
}

expect() # yes|no FILE: whether FILE must be installed; a file that is not installed must be named in the log
{
    local found named
    found=$(find "$work/prefix" -path '*/share/*' -prune -o -type f -path "*/$2" -print | grep -c . || true)
    named=$(grep -c "Not built, so not installed: .*/$2 " "$work/log" || true)
    if { [ "$1" = yes ] && [ "$found$named" != 10 ]; } || { [ "$1" = no ] && [ "$found$named" != 01 ]; }; then
        echo "$2: installed $found times, named as not built $named times, expected installed: $1" >&2
        status=1
    fi
}

install_all nothing
for part in "${parts[@]}"; do expect yes "$part"; done
for part in "${parts[@]}"; do
    mv "$work/build/$part" "$work/hidden"
    install_all "$part"
    expect no "$part"
    mv "$work/hidden" "$work/build/$part"
done
for part in "${parts[@]}"; do rm "$work/build/$part"; done
rm -rf "$work/build/share"
install_all "programs and modules"
for part in "${parts[@]}"; do expect no "$part"; done
if ! find "$work/prefix" -name libspry.so | grep -q .; then
    echo "the library is not installed" >&2
    status=1
fi
if [ ${#parts[@]} = 0 ]; then echo "nothing but the library is installed by this build: one case"; fi
exit $status
