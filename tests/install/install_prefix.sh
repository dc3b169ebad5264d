#!/usr/bin/env bash
# install_prefix.sh BUILD PREFIX CMAKE: installs into a separate prefix and checks for all files.
set -eu
build=$1 prefix=$2 cmake=$3

rm -rf "$prefix"
"$cmake" --install "$build" --prefix "$prefix" >/dev/null

status=0 of_program=()
if [ -x "$prefix/bin/spry" ]; then
    of_program=(share/man/man1/spry.1 share/man/man1/spry-spmv.1 share/bash-completion/completions/spry
        share/spry/report/__main__.py)
fi
for pattern in include/spry/{spry,matrix,spgemm,solve,io,cuda,tune,study}.h include/spry/spry.hpp \
    share/doc/*/LICENSE share/doc/*/README.md share/doc/*/docs/formats.md \
    share/doc/*/docs/tutorial/{01-sparse-matrices.md,arrays.py} "${of_program[@]}" \
    'lib*/libspry.so' 'lib*/libspry.so.0.3' 'lib*/libspry.so.0.3.0' \
    'lib*/cmake/Spry/SpryConfig.cmake' 'lib*/cmake/Spry/SpryConfigVersion.cmake' 'lib*/cmake/Spry/SpryTargets.cmake' \
    'lib*/pkgconfig/spry.pc'; do
    # shellcheck disable=SC2086 # the pattern is meant to expand; on Debian the folder may be lib/<triplet>
    if ! ls "$prefix"/$pattern >/dev/null 2>&1 && ! ls "$prefix"/${pattern/lib\*/lib/*} >/dev/null 2>&1; then
        echo "not installed: $pattern" >&2
        status=1
    fi
done

# Installed files must not name the build folder.
if grep -rIl --exclude-dir=.git -F "$build" "$prefix"; then
    echo "the files above name the build folder $build" >&2
    status=1
fi

# The installed program finds the library without settings.
if [ -x "$prefix/bin/spry" ] && ! env -u LD_LIBRARY_PATH "$prefix/bin/spry" --version >/dev/null; then
    echo "$prefix/bin/spry does not run" >&2
    status=1
fi
exit $status
