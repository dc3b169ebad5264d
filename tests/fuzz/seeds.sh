#!/usr/bin/env bash
# seeds.sh FOLDER: writes the seeds of fuzz_mtx to FOLDER/mtx and those of fuzz_edges to FOLDER/edges.
set -eu
mkdir -p "$1/mtx" "$1/edges"
cd "$1/mtx"
banner='%%MatrixMarket matrix'
printf "%s\n" "$banner array real general" '2 3' 1 2 0 4 5 6 > array.mtx
printf "%s\n" "$banner array integer symmetric" '2 2' 1 2 3 > array_symmetric.mtx
printf "%s\n" "$banner coordinate complex general" '1 1 1' '1 1 1 2' > complex.mtx
printf "%s\n" "$banner coordinate real general" '2 2 5' '2 2 1' '1 1 2' '2 2 inf' '2 1 nan' '2 2 4' > duplicates.mtx
printf "%s\n" "$banner coordinate real general" '% c' '3 4 4' '1 1 1.5' '2 3 -2e-3' '3 4 .5' \
    '1 2 1234567.12345678901234' > general.mtx
printf "%s\r\n" "$banner coordinate real hermitian" '2 2 2' '1 1 1' '2 1 2' > hermitian.mtx
printf "%s\n" "$banner coordinate integer general" '2 2 2' '1 1 -7' '2 2 12345678901234567890' > integer.mtx
printf "%s\n" "$banner coordinate real general" '2 2 3' '1 1 2' '2 2 4' '3 1 1' > late_fault.mtx
printf "%s\n" "$banner coordinate pattern symmetric" '4 4 3' '2 1' '4 3' '4 4' > pattern.mtx
printf "%s\n" "$banner coordinate real general" '2 2 3' '1 1 2' > short.mtx
printf "%s\n" "$banner coordinate real skew-symmetric" '3 3 2' '2 1 1' '3 2 -1d0' > skew.mtx
gzip -n < general.mtx > general.mtx.gz
{ head -c 40 array.mtx | gzip -n; tail -c +41 array.mtx | gzip -n; } > members.mtx.gz # two members

cd ../edges
printf '# c\n%% d\n\n5\t5\r\n 1 ; 2 \n' > comments.tsv
printf '1,1,nan\n0,0\n' > fault.csv
printf ',source,target\n0,0,1\n1,1,0\n' > index.csv
printf '"Source";"Label";"Weight";"Target"\n"0.0";"a ""b"";";"1e0";1\n' > quotes.csv
printf 'source,target,weight\n0,1,2.5\n1,0,-1e2\n' > three.csv
gzip -n < three.csv > three.csv.gz
printf '0 1\n1 2\n2 0\n' > two.txt
