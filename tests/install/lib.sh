# shellcheck shell=bash
# Sourced by the consumer tests.

# expect_time_loop PROGRAM...: runs PROGRAM and checks the printed temperature of examples/time_loop.c.
expect_time_loop()
{
    local printed
    printed=$("$@")
    if [[ $printed != 'middle 46.6188, '* ]]; then
        printf 'expected "middle 46.6188, ...", but %s printed:\n%s\n' "$1" "$printed" >&2
        return 1
    fi
}
