#!/usr/bin/env bash
# doc_commands.sh --check|--write ROOT PROGRAM [PAGE...]: runs the commands of README.md, the tutorial, the how-to pages
# and the reference, exactly as printed, and compares their output with the pages.
#
# Commands: each line that begins with "$ " in a block ```console. Each page has a new folder with examples/,
# docs/tutorial/ and build/spry, like the root of the source tree. README's commands run in this folder. Commands of all
# other pages run after the first commands of the tutorial's first page (block ```sh), in their final folder and with
# their PATH. Terminals are 80 columns wide, no variable SPRY_... is set, and the copy bandwidth is measured with small
# arrays (except when --write updates a sample). Standard error is part of the output only if the command must fail.
#
# Checks: the first command of a pipe ends with status 0, and the lines below the command equal its output. A comment in
# the line before the block changes the check:
#     <!-- run: status 1 -->      the command must end with this status
#     <!-- run: numbers -->       a number with its unit equals any other, and a level of vector instructions in a
#                                 kernel's name equals any other level: for times, rates and machines
#     <!-- run: keys -->          JSON: only the keys are compared
#     <!-- run: sample -->        the output is from one run on one machine and is not compared
#     <!-- run: no, REASON -->    the block is not run
# --write replaces different output and all samples with the present output.
#
# In addition, docs/reference/command-line.md must show the --help of each command that the program lists (--write adds
# it). json.md must explain each key of its samples. environment.md must name each variable that sources read.
set -eu
if ! command -v python3 >/dev/null; then
    echo "no python3: not tested"
    exit 77
fi
exec python3 "${0%.sh}.py" "$@"
