#!/usr/bin/env bash
# manual.sh PROGRAM SHARE: mandoc reports no warning for the man pages, they contain each option of each command, and
# the shells accept the completion. If a shell or mandoc is missing, its check is skipped with a message.
set -eu
program=$1 share=$2

missing=()
has()
{
    command -v "$1" >/dev/null && return 0
    missing+=("$1")
    return 1
}

options_of()
{
    "$program" "$1" --help |
        sed -n '/^Options:/,/^Examples:/s/^ \{2,6\}\(-[a-z], \)\{0,1\}--\([a-z-]*\).*/\2/p'
}

status=0
commands=$("$program" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
[ "$(wc -w <<<"$commands")" -ge 13 ] || { echo "no list of commands" >&2; exit 1; }
for command in $commands; do
    page=$share/man/man1/spry-$command.1
    for option in $(options_of "$command"); do
        grep -q -- "Fl .*\\\\-$option" "$page" || { echo "$page lacks --$option" >&2; status=1; }
        grep -q -- "--$option[ ']" "$share/bash-completion/completions/spry" ||
            { echo "completion lacks --$option of $command" >&2; status=1; }
    done
    grep -q "Xr spry-$command 1" "$share/man/man1/spry.1" || { echo "spry.1 lacks $command" >&2; status=1; }
done
if has mandoc; then
    # All warnings are errors, except references to pages that are not installed.
    if mandoc -Tlint "$share"/man/man1/*.1 | grep -v "referenced manual not found" >&2; then status=1; fi
fi

# Prints bash's completions of a command line.
offers()
{
    bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _spry; printf "%s\n" "${COMPREPLY[@]}"' \
        bash "$share/bash-completion/completions/spry" "$@"
}
[ "$(offers spry spm)" = spmv ] || { echo "bash: 'spm' is not completed to spmv" >&2; status=1; }
[ "$(offers spry spmv --devi)" = --device ] || { echo "bash: '--devi' is not completed" >&2; status=1; }
[ "$(offers spry spmv --device cu)" = cuda ] || { echo "bash: '--device cu' is not completed" >&2; status=1; }
if has zsh; then zsh -n "$share/zsh/site-functions/_spry" || status=1; fi
if has fish; then fish -n "$share/fish/vendor_completions.d/spry.fish" || status=1; fi
[ ${#missing[@]} = 0 ] || echo "not here, so not asked: ${missing[*]}"
exit $status
