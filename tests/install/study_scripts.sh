#!/usr/bin/env bash
# study_scripts.sh ROOT LIBRARY PROGRAM: the scripts of study/ on records whose figures are known and on small matrices
# that the program measures, and bench/scipy_driver.py where a Python with SciPy is found.
set -u
root=$1 library=$2
export SPRY=$3 SPRY_BENCH_COPY_BYTES=1048576
unset SPRY_MATRIX_DIR
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

if ! command -v python3 >/dev/null; then
    echo "no python3: not tested"
    exit 0
fi

record() # MATRIX KERNEL PEER TIME STATUS
{
    printf '{"op":"spmv","matrix":"%s","type":"f64","index":"32/32","format":"csr",' "$1"
    printf '"kernel":"%s","peer":%s,' "$2" "$3"
    printf '"time_us":%s,"spread_us":1,"setup_us":10,"roof":null,"status":"%s","reason":""}\n' "$4" "$5"
}

script=compare.py
expect() # STATUS TEXT ARGUMENT...: the script's exit status, and what it has to print
{
    local status=$1 text=$2 out
    shift 2
    out=$(cd "$folder" && python3 "$root/study/$script" "$@" 2>&1)
    if [ $? != "$status" ] || ! grep -qF -- "$text" <<<"$out"; then
        printf '%s %s: expected status %s and "%s", got\n%s\n' "$script" "$*" "$status" "$text" "$out"
        failed=1
    fi
}

{
    record a ours false 10 ok
    record a slow false 30 ok
    record a p1 true 20 ok
    record a p2 true 40 ok
    record a p3 true null skipped
    record b ours false 10 ok
    record b p1 true 80 ok
    record b p2 true 5 ok
    echo '{"regret":{"matrix":"b","loss":1}}'
} >"$folder/one.jsonl"
{
    record a ours false 100 ok
    record a other true 300 ok
} >"$folder/two.jsonl"
record a p1 true null wrong >"$folder/wrong.jsonl"
expect 0 'Geometric mean of the ratios 4.00, lowest 2.00' one.jsonl --kernel ours --against p1
expect 0 'Geometric mean of the ratios 1.00, lowest 0.50' one.jsonl --kernel ours --against best
expect 0 'Geometric mean of the ratios 1.00, lowest 0.50' one.jsonl --kernel best --against p1,p2
expect 0 'Beside these: a f64 p3: skipped' one.jsonl --kernel ours --against p1
expect 1 'Not compared: a f64 p3: skipped' one.jsonl --kernel ours --against p3
expect 1 'Not compared: b f64: no result of slow' one.jsonl --kernel slow --against p1
# Both sides of a ratio are of one run: 300 over 100, never 300 over 10.
expect 1 'Geometric mean of the ratios 3.00, lowest 3.00' one.jsonl two.jsonl --kernel ours --against other
expect 1 'Not compared: a f64 p1: wrong' one.jsonl wrong.jsonl --kernel ours --against p2

study() # MATRIX TYPE FORMAT KERNEL PEER ORDERING THREADS MEAN STATUS: a million entries, 2000 us are one GFLOP/s
{
    printf '{"matrix":"%s","nnz":1000000,"type":"%s","format":"%s","kernel":"%s","peer":%s,' "$1" "$2" "$3" "$4" "$5"
    printf '"ordering":"%s","threads":%s,"mean_us":%s,"twin":true,"device":"cpu","time_us":10,' "$6" "$7" "$8"
    printf '"spread_us":1,"status":"%s","reason":""}\n' "$9"
}
{ # debr is regular, FullChip irregular
    study debr f64 csr2 csr2_avx2_cpu false none 4 2000 ok
    study debr f64 csr2 csr2_avx2_cpu false bandk 4 1000 ok
    study debr f64 csr3 csr3_avx2_cpu false none 4 2000 ok
    study debr f64 csr mkl_csr_optimized true rcm 4 4000 ok
    study debr f64 csr mkl_csr_optimized true none 4 8000 ok
    study elsewhere f64 csr mkl_csr_optimized true none 4 1 ok
} >"$folder/part1.jsonl"
{
    study FullChip f64 csr2 csr2_avx2_cpu false none 4 4000 ok
    study FullChip f64 csr3 csr3_avx2_cpu false none 4 2000 ok
    study FullChip f64 csr mkl_csr_optimized true none 4 8000 ok
    study debr f64 csr2 csr2_avx2_cpu false none 4 1 ok
} >"$folder/part2.jsonl"
{
    study debr f64 csr2 csr2_avx2_cpu false none 4 1000 ok
    study debr f64 csr2 csr2_avx2_cpu false none 1 3000 ok
    study debr f64 csr mkl_csr_optimized true none 4 2000 ok
    study debr f64 csr mkl_csr_optimized true none 1 6000 ok
} >"$folder/scaling.jsonl"
study debr f64 csr2 csr2_avx2_cpu false none 4 null wrong >"$folder/bad.jsonl"
echo '{"matrix":' >"$folder/cut.jsonl"
echo '{"matrix":"debr"}' >"$folder/bare.jsonl"
: >"$folder/empty.jsonl"
script=csrk64.py
expect 0 '2 of 64 matrices, 2 of them twins' tables part1.jsonl part2.jsonl
expect 0 'Left out in f64 on cpu: belgium_osm' tables part1.jsonl part2.jsonl
# debr as given and reordered: 1 and 2 GFLOP/s; FullChip 0.5; the second file's debr does not count
expect 0 '| csr2 | 2.0 |  | 2.0 | 0.5 |  | 0.5 | 1.2 |' tables part1.jsonl part2.jsonl
expect 0 '| csr2 | 1.0 |  | 1.0 | 0.5 |  | 0.5 | 0.8 |' tables part1.jsonl part2.jsonl
expect 0 '| csr2 | mkl_csr_optimized | 4.00 | 2.00 | 2.83 | 2.00 FullChip | 4.00 debr |' tables part1.jsonl part2.jsonl
expect 0 'ahead by over 5 % on 1 (debr), csr3 on 1.' tables part1.jsonl part2.jsonl
expect 0 '| csr2 | 2.00 | 6.00 |' tables --scaling scaling.jsonl
expect 1 'wrong: debr f64 csr2_avx2_cpu' tables part2.jsonl bad.jsonl
expect 1 'cut.jsonl:1: no JSON' tables part1.jsonl cut.jsonl
expect 1 'bare.jsonl:1: no record of spry bench' tables part1.jsonl bare.jsonl
expect 1 'absent.jsonl: cannot be read: [Errno 2]' tables part1.jsonl absent.jsonl
expect 1 'no matrix of the study was measured in empty.jsonl' tables empty.jsonl
expect 2 'unrecognized arguments: --runs' tables part1.jsonl --runs 3
{ # Hamrle3 is regular and unsymmetric, FullChip irregular and symmetric; not everybody ran on each
    study debr f64 csr2 csr2_portable_cpu false none 4 1000 ok
    study debr f64 csr3 csr3_portable_cpu false none 4 2000 ok
    study debr f64 csr mkl_csr true none 4 2000 ok
    study debr f64 csr mkl_csr true rcm 4 500 ok
    study Hamrle3 f64 csr2 csr2_portable_cpu false none 4 2000 ok
    study Hamrle3 f64 csr3 csr3_portable_cpu false none 4 2000 ok
    study FullChip f64 csr mkl_csr true none 4 4000 ok
    study FullChip f64 csr mkl_csr true rcm 4 8000 ok
    study elsewhere f64 csr mkl_csr true none 4 1 ok
} | sed '/debr/!s/"twin":true/"twin":false/' >"$folder/sets.jsonl"
expect 0 '3 of 64 matrices, 1 of them twins; no twin: Hamrle3; no twin: FullChip.' tables sets.jsonl
expect 0 'Left out in f64 on cpu: belgium_osm netherlands_osm ' tables sets.jsonl
expect 0 '| csr2 | mkl_csr | 0.50 |  | 0.50 | 0.50 debr | 0.50 debr |' tables sets.jsonl
expect 0 '| csr2 | 2.00 (1) | 1.00 (1) | 1.50 (2) |  |  |  |' tables sets.jsonl
expect 0 '| mkl_csr | 1.00 (1) |  | 1.00 (1) | 0.50 (1) |  | 0.50 (1) |' tables sets.jsonl
expect 0 '| mkl_csr | 4.00 (1) |  | 4.00 (1) | 0.50 (1) |  | 0.50 (1) |' tables sets.jsonl
expect 0 'csr2 1.5, csr3 1.0 GFLOP/s over 2 matrices; csr2 ahead by over 5 % on 1 (debr)' tables sets.jsonl
{ # what ran with fewer threads is no part of the tables by class
    study debr f64 csr mkl_csr true none 4 2000 ok
    study debr f64 csr2 csr2_portable_cpu false none 4 1000 ok
    study debr f64 csr mkl_csr true none 1 8000 ok
    study debr f64 csr2 csr2_portable_cpu false none 1 4000 ok
    study Hamrle3 f64 csr mkl_csr true none 1 2000 ok
    study Hamrle3 f64 csr2 csr2_portable_cpu false none 4 2000 ok
    study nothing f64 csr mkl_csr true none 2 1 ok
} >"$folder/teams.jsonl"
expect 0 'speed-up over mkl_csr at 1 thread, geometric mean over 1 matrices' tables --scaling teams.jsonl
expect 0 '| threads | 1 | 4 |' tables --scaling teams.jsonl
expect 0 '| mkl_csr | 1.00 | 4.00 |' tables --scaling teams.jsonl
expect 0 '| csr2 | 2.00 | 8.00 |' tables --scaling teams.jsonl
expect 0 '| csr2 | 2.00 (1) | 1.00 (1) | 1.50 (2) |' tables teams.jsonl
# Parts of small ones first: roadNet-PA, belgium_osm, webbase-1M; the study bounded to nothing.
expect 0 'roadNet-PA skipped: it has about 3081200 entries, more than the limit of 1' run --limit-nnz 1 --runs 2
expect 0 'belgium_osm skipped: it has about 3100000 entries, more than the limit of 1' run --limit-nnz 1 --part 2/7
expect 0 'wiki-Talk skipped' run --limit-nnz 1 --part 2/7
if (python3 "$root/study/csrk64.py" run --limit-nnz 1 --part 2/7) | grep -qE '^(roadNet-PA|webbase-1M) '; then
    echo "csrk64.py --part 2/7: matrices of another part"
    failed=1
fi
expect 1 "--part is '3', expected I/N, as 1/4 and so on to 4/4" run --part 3
expect 1 "there is no matrix 'smaller' in the study" run --only smaller
expect 2 "expected a folder that exists" run --matrices none
# A file that is there comes before its twin, which has the matrix's name and says that it is one.
mkdir "$folder/real"
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 2\n' >"$folder/real/debr.mtx"
expect 0 '1 of 64 matrices, 0 of them twins; no twin: debr.' run --matrices real --only debr --runs 1 --device cpu \
    --json debr.jsonl --formats csr,csr2
expect 0 '1 of 64 matrices, 0 of them twins; no twin: debr.' tables debr.jsonl
expect 2 'there is no format' run --matrices real --only debr --formats crs

script=compare.py

for python in "$root/.peers/venv/bin/python" python3; do
    "$python" -c 'import scipy.sparse' 2>/dev/null || continue
    for op in spmv spmv_t; do
        if ! OMP_NUM_THREADS=2 "$python" "$root/bench/scipy_driver.py" --library "$library" --op $op --type all \
            --json "$folder/$op.jsonl" gen:grid5,x=60,y=50 gen:rmat20,scale=9; then
            echo "scipy_driver.py --op $op failed"
            failed=1
        fi
        if [ "$(grep '"scipy_csr"' "$folder/$op.jsonl" | grep -c '"status": "ok"')" != 4 ]; then
            echo "scipy_driver.py --op $op: expected 4 good records of SciPy, got"
            cat "$folder/$op.jsonl"
            failed=1
        fi
    done
    expect 0 'Geometric mean' spmv.jsonl --kernel best --against scipy_csr
    exit $failed
done
echo "no Python with SciPy: the driver is not tested"
exit $failed
