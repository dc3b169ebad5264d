#!/usr/bin/env bash
# Gets and builds the peers that no package has. See --help.
set -eu

usage()
{
    cat <<'END_OF_HELP'
usage: scripts/rivals.sh [--arch NAME] [--csr5 FOLDER|URL] [--kokkos FOLDER|URL] [--kokkos-kernels FOLDER|URL]

Clones three projects at pinned commits into .peers/rivals and builds what their sparse products need:
    CSR5 by its authors (MIT), Kokkos and Kokkos Kernels (Apache 2.0 with LLVM exception)
for the CPU, and for NVIDIA GPUs if nvcc is found. This takes three minutes on two cores. The next build of Spry has the
peers csr5_authors_cpu, csr5_authors_cuda, kokkos_kernels_cpu and kokkos_kernels_cuda.

    --arch NAME   Kokkos's name of the GPU architecture: HOPPER90 (default), AMPERE80, ADA89, ...
    --csr5, --kokkos, --kokkos-kernels   a clone, or its address, in the place of GitHub's
END_OF_HELP
}

csr5_commit=4b06ce35e45c3c61a51e249e12e1c4954af443fa
kokkos_commit=1b1383c6001f3bfe9fe309ca923c2d786600cc79         # 4.6.01
kokkos_kernels_commit=38ed37e82fc1d071078c7825c3be327be519ee52 # 4.6.01

program=scripts/rivals.sh
csr5=https://github.com/weifengliu-ssslab/Benchmark_SpMV_using_CSR5
kokkos=https://github.com/kokkos/kokkos
kokkos_kernels=https://github.com/kokkos/kokkos-kernels
arch=HOPPER90
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) usage; exit 0 ;;
    --arch | --csr5 | --kokkos | --kokkos-kernels) [ $# -gt 1 ] || { usage >&2; exit 2; } ;;
    *) usage >&2; echo "$program: unknown argument $1" >&2; exit 2 ;;
    esac
    case $1 in
    --arch) arch=$2 ;;
    --csr5) csr5=$2 ;;
    --kokkos) kokkos=$2 ;;
    --kokkos-kernels) kokkos_kernels=$2 ;;
    esac
    shift 2
done

fail() # MESSAGE
{
    echo "$program: $1" >&2
    exit 1
}

folder=$(cd "$(dirname "$0")/.." && pwd)/.peers/rivals
nvcc=${CUDACXX:-$(command -v nvcc || command -v /usr/local/cuda/bin/nvcc || true)}
if [ -n "$nvcc" ]; then
    release=$("$nvcc" --version | sed -n 's/.*release \([0-9]*\).*/\1/p')
    [ -n "$release" ] || fail "'$nvcc --version' reports no release: set CUDACXX to the path of a working nvcc"
fi
mkdir -p "$folder"
rm -f "$folder/versions.cmake"

get() # NAME SOURCE COMMIT: a clean checkout of the commit
{
    local clone=$folder/$1 source=$2 commit=$3
    local git=(git "--git-dir=$clone/.git" "--work-tree=$clone")
    if [ ! -e "$clone/.git" ]; then
        echo "$program: cloning $source"
        git clone --quiet --no-checkout "$source" "$clone" ||
            fail "$source cannot be cloned: remove $clone if it exists"
    fi
    if ! "${git[@]}" cat-file -e "$commit^{commit}" 2>/dev/null; then
        echo "$program: fetching commit $commit from $source"
        "${git[@]}" fetch --quiet "$source" "$commit" ||
            fail "$source cannot provide commit $commit: remove $clone, or name another source by --$1"
    fi
    "${git[@]}" checkout --quiet --force --detach "$commit" ||
        fail "commit $commit cannot be checked out: remove $clone and run $program again"
}

# edit FILE SED...: edits a source, and reports an edit that changes nothing
edit()
{
    local file=$folder/$1
    shift
    for change in "$@"; do
        cp "$file" "$file.before"
        sed -i "$change" "$file"
        if cmp -s "$file" "$file.before"; then fail "the edit '$change' does not fit $file"; fi
        rm "$file.before"
    done
}

# CSR5 for GPUs is of 2015. Each edit keeps the algorithm.
edit_csr5()
{
    local all=0xffffffff detail=csr5/CSR5_cuda/detail/cuda
    # Headers of CUDA's samples, which toolkits lack. The peer's module defines the macro that is used.
    edit $detail/common_cuda.h '/helper_functions.h\|helper_cuda.h/d'
    # Shuffles without a mask of lanes, which CUDA 9 deprecated and GPUs since Volta lack. All lanes take part.
    edit $detail/utils_cuda.h "s/__shfl_\(up\|xor\)(\(x\|sum\|r_scan\),/__shfl_\1_sync($all, \2,/" \
        "s/shfl\.up\.b32 \(.*\), %3;/shfl.sync.up.b32 \1, %3, $all;/"
    edit $detail/csr5_spmv_cuda.h "s/__shfl_down(/__shfl_down_sync($all, /" "s/__shfl(/__shfl_sync($all, /"
    edit $detail/format_cuda.h "s/__shfl(/__shfl_sync($all, /"
    # A shift of a negative constant, which compilers refuse since C++11.
    edit $detail/utils_cuda.h 's/(-1 << STEPS)/(~0u << STEPS)/'
    # Functions for GPUs before Kepler, which collide with those of CUDA; and an addition of f64, which GPUs have since
    # Pascal.
    edit $detail/utils_cuda.h 's/^#if __CUDA_ARCH__ <= 300/#if 0/' 's/^static double atomicAdd(/static double older_add(/'
    # Lanes of a warp that exchange values by shared memory: since Volta, a warp's lanes run in step only if asked to.
    edit $detail/utils_cuda.h '/scan_256_plus1/,/^}/s/^    if (threadIdx.x \(< 16\|< [248]\|== 0\)) .*/&\n    __syncwarp();/'
    edit $detail/format_cuda.h 's/^    s_present\[.*= present;/&\n    __syncwarp();/'
    # Warps of the last block that have no tile read and wrote past the arrays.
    edit $detail/format_cuda.h 's/^    if (row_start == row_stop)$/    if (row_start == row_stop || par_id >= p - 1)/'
}

# CUDA 13 changed the arguments of three functions, which products do not call.
edit_kokkos()
{
    local file=kokkos/core/src/Cuda/Kokkos_Cuda_Instance.hpp location='cudaMemLocation{cudaMemLocationTypeDevice,'
    edit $file 's/cudaGraphAddDependencies(graph, from, to, /&nullptr, /' \
        "s/cudaMemAdvise(devPtr, count, advice, device)/cudaMemAdvise(devPtr, count, advice, $location device})/" \
        "s/cudaMemPrefetchAsync(devPtr, count, dstDevice,/cudaMemPrefetchAsync(devPtr, count, $location dstDevice}, 0,/"
}

install_project() # SOURCE DEVICE OPTION...: configures, builds and installs a project into .peers/rivals/DEVICE
{
    local source=$1 device=$2 log=$folder/build/$1-$2.log
    shift 2
    echo "$program: building $source for $device; its output is in $log"
    mkdir -p "$folder/build"
    cmake -G Ninja -S "$folder/$source" -B "$folder/build/$source-$device" -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_INSTALL_PREFIX="$folder/$device" -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
        -DCMAKE_CXX_STANDARD=17 "$@" >"$log" 2>&1 || fail "CMake cannot configure $source for $device: see $log"
    cmake --build "$folder/build/$source-$device" --target install >>"$log" 2>&1 ||
        fail "$source cannot be built for $device: see $log"
}

build_kokkos() # DEVICE OPTION...
{
    local device=$1
    shift
    install_project kokkos "$device" -DKokkos_ENABLE_SERIAL=ON -DKokkos_ENABLE_DEPRECATED_CODE_4=OFF "$@"
    # Only the headers of sparse products: no instances in advance, no libraries of vendors.
    install_project kokkos-kernels "$device" -DKokkos_ROOT="$folder/$device" -DKokkosKernels_ADD_DEFAULT_ETI=OFF \
        -DKokkosKernels_ENABLE_ALL_COMPONENTS=OFF -DKokkosKernels_ENABLE_COMPONENT_SPARSE=ON \
        -DKokkosKernels_ENABLE_TPL_CUSPARSE=OFF -DKokkosKernels_ENABLE_TPL_CUBLAS=OFF \
        -DKokkosKernels_ENABLE_TPL_CUSOLVER=OFF
}

get csr5 "$csr5" $csr5_commit
get kokkos "$kokkos" $kokkos_commit
get kokkos-kernels "$kokkos_kernels" $kokkos_kernels_commit
edit_csr5
build_kokkos cpu -DKokkos_ENABLE_OPENMP=ON
if [ -n "$nvcc" ]; then
    if [ "$release" -ge 13 ]; then edit_kokkos; fi
    build_kokkos cuda -DKokkos_ENABLE_CUDA=ON -DKokkos_ENABLE_COMPILE_AS_CMAKE_LANGUAGE=ON "-DKokkos_ARCH_$arch=ON" \
        -DCMAKE_CUDA_COMPILER="$nvcc" -DCMAKE_CUDA_ARCHITECTURES="${arch//[!0-9]/}"
else
    echo "$program: no nvcc was found; continuing without the peers for GPUs" >&2
fi
printf 'set(spry_csr5_commit %s)\nset(spry_rivals_arch %s-real)\n' ${csr5_commit:0:8} "${arch//[!0-9]/}" \
    >"$folder/versions.cmake"
echo "$program: configure and build Spry again to get the peers' modules, build/peers/spry-peer-*.so"
