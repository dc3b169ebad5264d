#!/usr/bin/env bash
# doc_commands.sh --check|--write ROOT PROGRAM [PAGE...]: runs the commands that README.md, the tutorial, the how-to
# pages and the reference show, as they are printed, and compares what the pages say that they print.
#
# What is run: every line that begins with "$ " in a block ```console. Each page has a new folder with examples/,
# docs/tutorial/ and build/spry, as the root of the source tree has them. README's commands run there. Those of all
# other pages run where the first commands of the tutorial's first page lead (block ```sh), with the PATH that these
# set. Terminals are 80 columns wide, no variable SPRY_... is set, and the copy bandwidth is measured
# with small arrays (but not where --write makes a sample). What goes to standard error is shown on the page only where
# the command has to fail.
#
# What has to hold: the first command of a pipe ends with status 0, and the lines below the command are those that it
# prints. A comment in the line before the block says otherwise:
#     <!-- run: status 1 -->      it has to end with this status
#     <!-- run: numbers -->       numbers (with their units) are compared as "some number", and the level of vector
#                                 instructions in kernels' names likewise: for times, rates and machines
#     <!-- run: keys -->          JSON: the keys are compared, not what they hold
#     <!-- run: sample -->        what is shown came from one run on one machine; it is not compared
#     <!-- run: no, REASON -->    it is not run
# --write puts what the commands print now in place of what differs, and of every sample.
#
# Beside that docs/reference/command-line.md has to show the --help of each command that the program lists (--write adds
# it), json.md to explain each key that its samples have, and environment.md to name each variable that sources read.
set -eu
if ! command -v python3 >/dev/null; then
    echo "no python3: not tested"
    exit 77
fi
exec python3 "${0%.sh}.py" "$@"
