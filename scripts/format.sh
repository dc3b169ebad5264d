# shellcheck shell=bash disable=SC2154 # $program is the script that sources this
# Sourced by ./check: formats the sources. The version of clang-format is pinned, because versions differ slightly.

clang_format_version=14

find_clang_format()
{
    local candidate
    for candidate in clang-format-$clang_format_version clang-format; do
        if command -v "$candidate" >/dev/null && "$candidate" --version | grep -q "version $clang_format_version\."; then
            echo "$candidate"
            return
        fi
    done
}

need_clang_format()
{
    [ -n "$(find_clang_format)" ] || need clang-format-$clang_format_version "layout of the sources"
}

list_sources()
{
    find include src study cli bench common tests examples docs -type f \( -name '*.c' -o -name '*.h' -o -name '*.cpp' \) | sort
}

check_format()
{
    local tool
    tool=$(find_clang_format)
    if [ -z "$tool" ]; then
        echo "clang-format $clang_format_version is missing: format not checked (./check --format installs it)"
    elif ! list_sources | xargs "$tool" --dry-run -Werror; then
        echo "$program: run ./check --format to format these files" >&2
        return 1
    fi
}

format_sources()
{
    local tool
    tool=$(find_clang_format)
    if [ -z "$tool" ]; then
        echo "$program: clang-format-$clang_format_version was installed but does not run" >&2
        return 1
    fi
    list_sources | xargs "$tool" -i
}
