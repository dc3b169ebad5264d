/* Finds and loads peer modules, and lists missing modules with the reason. */
#include "bench/internal.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The peers' kernels in a complete build. Other modules in the folder are also loaded. */
static const struct {
    const char *module, *kernel, *format, *device;
    bench_factor factor;
} expected[] = {{"plain", "csr_plain", "csr", "cpu", BY_A_VECTOR},
                {"eigen", "eigen_csr", "csr", "cpu", BY_A_VECTOR},
                {"mkl", "mkl_csr", "csr", "cpu", BY_A_VECTOR},
                {"mkl", "mkl_csr_optimized", "csr", "cpu", BY_A_VECTOR},
                {"mkl", "mkl_csc", "csc", "cpu", BY_A_VECTOR},
                {"mkl", "mkl_coo", "coo", "cpu", BY_A_VECTOR},
                {"mkl", "mkl_bsr", "bsr", "cpu", BY_A_VECTOR},
                {"csr5_authors", "csr5_authors_cpu", "csr", "cpu", BY_A_VECTOR},
                {"kokkos_kernels", "kokkos_kernels_cpu", "csr", "cpu", BY_A_VECTOR},
                {"rsb", "librsb", "csr", "cpu", BY_A_VECTOR},
                {"rsb", "librsb_tuned", "csr", "cpu", BY_A_VECTOR},
                {"cusparse", "cusparse_csr_alg1", "csr", "cuda", BY_A_VECTOR},
                {"cusparse", "cusparse_csr_alg2", "csr", "cuda", BY_A_VECTOR},
                {"cusparse", "cusparse_csc", "csc", "cuda", BY_A_VECTOR},
                {"cusparse", "cusparse_coo_alg1", "coo", "cuda", BY_A_VECTOR},
                {"cusparse", "cusparse_coo_alg2", "coo", "cuda", BY_A_VECTOR},
                {"cusparse", "cusparse_sell", "sell", "cuda", BY_A_VECTOR},
                {"cusparse", "cusparse_bsr", "bsr", "cuda", BY_A_VECTOR},
                {"cusparse", "cusparse_spmvop_alg1", "csr", "cuda", BY_A_VECTOR},
                {"cusparse", "cusparse_spmvop_alg2", "csr", "cuda", BY_A_VECTOR},
                {"csr5_authors_cuda", "csr5_authors_cuda", "csr", "cuda", BY_A_VECTOR},
                {"kokkos_kernels_cuda", "kokkos_kernels_cuda", "csr", "cuda", BY_A_VECTOR},
                {"cusparse", "cusparse_spmm_csr_alg1", "csr", "cuda", BY_COLUMNS},
                {"cusparse", "cusparse_spmm_csr_alg2", "csr", "cuda", BY_COLUMNS},
                {"cusparse", "cusparse_spmm_csr_alg3", "csr", "cuda", BY_COLUMNS},
                {"cusparse", "cusparse_spmm_coo_alg1", "coo", "cuda", BY_COLUMNS},
                {"cusparse", "cusparse_spmm_coo_alg2", "coo", "cuda", BY_COLUMNS},
                {"cusparse", "cusparse_spmm_coo_alg3", "coo", "cuda", BY_COLUMNS},
                {"cusparse", "cusparse_spmm_coo_alg4", "coo", "cuda", BY_COLUMNS},
                {"cusparse", "cusparse_spmm_bsr", "bsr", "cuda", BY_COLUMNS},
                {"mkl", "mkl_spmm", "csr", "cpu", BY_COLUMNS},
                {"mkl", "mkl_spmm_optimized", "csr", "cpu", BY_COLUMNS},
                {"eigen", "eigen_spmm", "csr", "cpu", BY_COLUMNS},
                {"graphblas", "graphblas_spmm", "csr", "cpu", BY_COLUMNS},
                {"process", "scipy_spmm", "csr", "cpu", BY_COLUMNS},
                {"mkl", "mkl_sp2m", "csr", "cpu", BY_A_MATRIX},
                {"eigen", "eigen_spgemm", "csr", "cpu", BY_A_MATRIX},
                {"graphblas", "graphblas_mxm", "csr", "cpu", BY_A_MATRIX},
                {"process", "scipy_smmp", "csr", "cpu", BY_A_MATRIX},
                {"process", "scipy_smmp_sorted", "csr", "cpu", BY_A_MATRIX},
                {"process", "octave", "csr", "cpu", BY_A_MATRIX},
                {"cusparse", "cusparse_spgemm_alg1", "csr", "cuda", BY_A_MATRIX},
                {"cusparse", "cusparse_spgemm_alg2", "csr", "cuda", BY_A_MATRIX},
                {"cusparse", "cusparse_spgemm_alg3", "csr", "cuda", BY_A_MATRIX},
                {"eigen", "eigen_cg", "csr", "cpu", IN_CG},
                {"petsc", "petsc_cg", "csr", "cpu", IN_CG},
                {"cublas", "cusparse_cublas_cg", "csr", "cuda", IN_CG},
                {"process", "cupy_cg", "csr", "cuda", IN_CG},
                {"gap", "gap_pr_spmv", "csr", "cpu", IN_PAGERANK},
                {"process", "scipy_pagerank", "csr", "cpu", IN_PAGERANK},
                {"cublas", "cusparse_pagerank", "csr", "cuda", IN_PAGERANK}};
static const int expected_count = (int)(sizeof expected / sizeof *expected);

static const char prefix[] = "spry-peer-", ending[] = ".so";

/* Finds the folder of modules: SPRY_PEER_DIR, else peers/ in the program's folder, else the installed folder. */
static void find_folder(char *folder, size_t size)
{
    const char *named = getenv("SPRY_PEER_DIR");
    if (named && named[0]) {
        snprintf(folder, size, "%s", named);
        return;
    }
    char program[4096];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length < 0) length = 0;
    program[length] = '\0';
    char *slash = strrchr(program, '/');
    if (slash) *slash = '\0';
    snprintf(folder, size, "%.*s/peers", (int)size - 8, program);
    if (access(folder, F_OK) == 0) return;
    /* SPRY_INSTALLED_PEERS is the path from the program's folder to the installed modules. */
    snprintf(folder, size, "%.*s/" SPRY_INSTALLED_PEERS, (int)(size - sizeof SPRY_INSTALLED_PEERS - 1), program);
}

/* Adds a peer. Returns NULL if memory is short. */
static bench_peer *add_peer(bench_peers *peers, const char *module, const char *name, const char *format,
                            const char *device)
{
    bench_peer *grown = realloc(peers->items, (size_t)(peers->count + 1) * sizeof *grown);
    if (!grown) return NULL;
    peers->items = grown;
    bench_peer *peer = &grown[peers->count++];
    *peer = (bench_peer){0};
    RECORD_TEXT(peer->module, module);
    RECORD_TEXT(peer->name, name);
    RECORD_TEXT(peer->format, format);
    RECORD_TEXT(peer->device, device);
    return peer;
}

/* Adds all expected kernels of a missing module, with the reason. */
static int add_missing(bench_peers *peers, const char *module, const char *reason)
{
    const int before = peers->count;
    bench_peer *peer;
    for (int e = 0; e < expected_count; e++) {
        if (strcmp(expected[e].module, module) != 0) continue;
        peer = add_peer(peers, module, expected[e].kernel, expected[e].format, expected[e].device);
        if (!peer) return 0;
        peer->factor = expected[e].factor;
        RECORD_TEXT(peer->reason, reason);
    }
    if (peers->count > before) return 1;
    peer = add_peer(peers, module, module, "csr", "cpu");
    if (peer) RECORD_TEXT(peer->reason, reason);
    return peer != NULL;
}

static int add_kernels(bench_peers *peers, const char *name, const spry_peer_module *module, bench_factor factor)
{
    const int count = factor == BY_COLUMNS ? module->spmm_count : module->kernel_count;
    const spry_peer_kernel *kernels = factor == BY_COLUMNS ? module->spmm : module->kernels;
    for (int k = 0; k < count; k++) {
        bench_peer *peer = add_peer(peers, name, kernels[k].name, kernels[k].format, kernels[k].device);
        if (!peer) return 0;
        RECORD_TEXT(peer->version, module->version);
        peer->factor = factor;
        peer->kernel = &kernels[k];
    }
    return 1;
}

static int add_module(bench_peers *peers, const char *name, const spry_peer_module *module)
{
    if (!add_kernels(peers, name, module, BY_A_VECTOR) || !add_kernels(peers, name, module, BY_COLUMNS)) return 0;
    for (int k = 0; k < module->spgemm_count; k++) {
        const spry_peer_spgemm *spgemm = &module->spgemm[k];
        bench_peer *peer = add_peer(peers, name, spgemm->name, "csr", spgemm->device);
        if (!peer) return 0;
        RECORD_TEXT(peer->version, module->version);
        peer->factor = BY_A_MATRIX;
        peer->spgemm = spgemm;
    }
    for (int k = 0; k < module->solver_count; k++) {
        const spry_peer_solver *solver = &module->solvers[k];
        bench_peer *peer = add_peer(peers, name, solver->name, "csr", solver->device);
        if (!peer) return 0;
        RECORD_TEXT(peer->version, module->version);
        peer->factor = solver->method == SPRY_PEER_CG ? IN_CG : IN_PAGERANK;
        peer->solver = solver;
    }
    return 1;
}

static int load_module(bench_peers *peers, const char *name)
{
    char path[sizeof peers->folder + 256], reason[384];
    spry_peer_error error = {""};
    snprintf(path, sizeof path, "%s/%s%s%s", peers->folder, prefix, name, ending);
    if (access(path, F_OK) != 0) {
        snprintf(reason, sizeof reason,
                 "there is no peer module in %.200s: './quickstart --peers' builds it in build/peers (CSR5 and Kokkos: "
                 "after scripts/rivals.sh); set SPRY_PEER_DIR to that folder",
                 peers->folder);
        return add_missing(peers, name, reason);
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(reason, sizeof reason, "the peer module cannot be loaded: %.300s", dlerror());
        return add_missing(peers, name, reason);
    }
    /* memcpy, because ISO C does not convert object pointers to function pointers. POSIX permits it. */
    spry_peer_get_fn get = NULL;
    void *symbol = dlsym(library, "spry_peer_get");
    memcpy(&get, &symbol, sizeof get);
    const spry_peer_module *module = get ? get(&error) : NULL;
    if (!module || module->abi != SPRY_PEER_ABI) {
        if (module)
            snprintf(reason, sizeof reason, "the peer module has interface %d, expected %d: rebuild it", module->abi,
                     SPRY_PEER_ABI);
        else
            snprintf(reason, sizeof reason, "%.300s",
                     get ? error.text : "the peer module does not export spry_peer_get");
        dlclose(library);
        return add_missing(peers, name, reason);
    }
    return add_module(peers, name, module); /* never closed, because its run-time library may have running threads */
}

static bool is_listed(const bench_peers *peers, const char *module)
{
    for (int p = 0; p < peers->count; p++)
        if (strcmp(peers->items[p].module, module) == 0) return true;
    return false;
}

/* Loads the modules of the folder that the list `expected` does not have. */
static int load_others(bench_peers *peers)
{
    DIR *folder = opendir(peers->folder);
    if (!folder) return 1;
    int good = 1;
    for (struct dirent *entry; good && (entry = readdir(folder)) != NULL;) {
        size_t length = strlen(entry->d_name), frame = strlen(prefix) + strlen(ending);
        if (length <= frame || strncmp(entry->d_name, prefix, strlen(prefix)) != 0 ||
            strcmp(entry->d_name + length - strlen(ending), ending) != 0)
            continue;
        char name[32];
        snprintf(name, sizeof name, "%.*s", (int)(length - frame), entry->d_name + strlen(prefix));
        if (!is_listed(peers, name)) good = load_module(peers, name);
    }
    closedir(folder);
    return good;
}

bench_peers *bench_load_peers(void)
{
    bench_peers *peers = calloc(1, sizeof *peers);
    if (!peers) return NULL;
    find_folder(peers->folder, sizeof peers->folder);
    int good = 1;
    for (int e = 0; good && e < expected_count; e++)
        if (!is_listed(peers, expected[e].module)) good = load_module(peers, expected[e].module);
    if (good && load_others(peers)) return peers;
    bench_release_peers(peers);
    return NULL;
}

void bench_release_peers(bench_peers *peers)
{
    if (peers) free(peers->items);
    free(peers);
}

const char *bench_peer_name(const bench_peers *peers, int peer, bench_factor *factor)
{
    if (peer >= peers->count) return NULL;
    *factor = peers->items[peer].factor;
    return peers->items[peer].name;
}

record_status bench_status_of_peer(int answer)
{
    return answer == SPRY_PEER_UNSUPPORTED ? RECORD_SKIPPED : RECORD_FAILED;
}

peer_preparation bench_begin_preparing(int threads, int deterministic)
{
    return (peer_preparation){.cost = {.threads = threads, .deterministic = deterministic},
                              .error = {"no reason given"},
                              .start = now_us()};
}

int bench_end_preparing(const peer_preparation *p, record *r, const bench_peer *peer, const char *title, void **state,
                        void (*destroy)(void *state))
{
    const spry_peer_cost *cost = &p->cost;
    const double us = now_us() - p->start;
    if (p->result != SPRY_PEER_OK) {
        if (*state) destroy(*state);
        *state = NULL;
        return record_fail(r, bench_status_of_peer(p->result), "%s", p->error.text);
    }
    snprintf(r->reason, sizeof r->reason, "%s, version %s", title, cost->version[0] ? cost->version : peer->version);
    r->cost.setup_us = us - cost->startup_us;
    r->cost.upload_us = cost->upload_us;
    r->method.threads = cost->threads;
    r->method.deterministic = cost->deterministic;
    r->rates.bytes = cost->bytes > 0 ? cost->bytes : -1;
    return 1;
}

spry_peer_matrix bench_peer_matrix(const spry_arrays *a)
{
    return (spry_peer_matrix){.rows = a->rows,
                              .cols = a->columns,
                              .nnz = a->nnz,
                              .value_bytes = (int)spry_type_bytes(a->value_type),
                              .offset_bytes = index_type_bytes(a->offset_type),
                              .index_bytes = index_type_bytes(a->index_type),
                              .offsets = a->offsets,
                              .columns = a->indices,
                              .values = a->values};
}
