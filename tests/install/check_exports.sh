#!/usr/bin/env bash
# check_exports.sh ROOT LIBRARY NM: the library exports exactly the SPRY_API functions of the headers. exports.txt
# records their names. The library has the right SONAME, calls no function that prints or ends the process, and is
# small.
set -eu
root=$1 library=$2 nm=$3
status=0

declared=$(awk '/^(SPRY_MUST_CHECK )?SPRY_API/ { inside = 1; text = "" } inside { text = text " " $0 }
    inside && /;/ { inside = 0; sub(/\(.*/, "", text); n = split(text, word, /[ *]+/); print word[n] }' \
    "$root"/include/spry/*.h | sort)
exported=$("$nm" -D --defined-only "$library" | awk '{ print $NF }' | sort)
[ -n "$declared" ] || { echo "found no SPRY_API function" >&2; exit 1; }
if ! diff <(echo "$declared") <(echo "$exported") >&2; then
    echo "< declared in include/spry, > exported by $library" >&2
    status=1
fi
if ! diff "$root/tests/install/exports.txt" <(echo "$declared") >&2; then
    echo "< recorded in tests/install/exports.txt, > declared: programs of this SONAME need every recorded name" >&2
    status=1
fi

forbidden='v?printf(_chk)?|puts|putchar|perror|v?warnx?|v?errx?|exit|Exit|quick_exit|abort|assert(_fail)?|raise|stderr'
called=$("$nm" -D --undefined-only "$library" | awk '{ sub(/@.*/, "", $NF); print $NF }' |
    grep -xE "_*($forbidden)" || true)
if [ -n "$called" ]; then
    echo "the library prints or ends the process with: ${called//$'\n'/ }" >&2
    status=1
fi

openmp=$("$nm" -D --undefined-only "$library" | grep -oE '\b(GOMP|GOACC|__kmpc|omp)_[A-Za-z0-9_]*' || true)
command -v readelf >/dev/null && openmp+=$(readelf -d "$library" | grep -oE 'lib(gomp|i?omp5?)\.so[^]]*' || true)
if [ -n "$openmp" ]; then
    echo "the library needs OpenMP, which ends the process when the system starts no thread: ${openmp//$'\n'/ }" >&2
    status=1
fi

soname=$(sed -n 's/^#define SPRY_VERSION_\(MAJOR\|MINOR\) //p' "$root/include/spry/spry.h" | paste -sd.)
if command -v readelf >/dev/null && ! readelf -d "$library" | grep -q "SONAME.*\[libspry\.so\.$soname\]"; then
    echo "the SONAME is not libspry.so.$soname" >&2
    status=1
fi

if command -v readelf >/dev/null && ! readelf -d "$library" | grep -q 'FLAGS_1.*NODELETE'; then
    echo "the library is not linked with -z nodelete: dlclose would unmap the code of sleeping threads" >&2
    status=1
fi

bytes=$(stat -L -c %s "$library")
echo "libspry.so: $bytes bytes"
# The limit includes 0.15 MB for the AVX2 kernels of windowed, and 0.05 MB for multiple row-major vectors.
if [ "$bytes" -gt 4645000 ]; then
    echo "libspry.so has $bytes bytes, over 4645000" >&2
    status=1
fi
exit $status
