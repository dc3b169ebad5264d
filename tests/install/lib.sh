# shellcheck shell=bash
# Sourced by the consumer tests.

# expect_product PROGRAM...: runs it, and compares what it prints with the two products of examples/multiply.c.
expect_product()
{
    local printed
    printed=$("$@")
    if [ "$printed" != $'7\n6\n7\n403\n6\n7' ]; then
        printf 'expected 7 6 7 403 6 7, one a line, but %s printed:\n%s\n' "$1" "$printed" >&2
        return 1
    fi
}
