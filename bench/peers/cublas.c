/* The module cublas: CG and PageRank on the first GPU, composed of cuSPARSE's products and cuBLAS. */
#include "bench/peers/cublas_method.h"

static spry_peer_solver solvers[2];

const spry_peer_module *spry_peer_get(spry_peer_error *error)
{
    static char version[32];
    static const spry_peer_module module = {.abi = SPRY_PEER_ABI,
                                            .name = "cublas",
                                            .version = version,
                                            .solver_count = sizeof solvers / sizeof *solvers,
                                            .solvers = solvers};
    int devices = 0, parts[3] = {0};
    const cudaError_t code = cudaGetDeviceCount(&devices);
    if (code != cudaSuccess || devices == 0) {
        (void)cudaGetLastError();
        spry_peer_fail(error, SPRY_PEER_FAILED, "cuSPARSE and cuBLAS need a GPU: %s",
                       code == cudaSuccess ? "no CUDA device is visible" : cudaGetErrorString(code));
        return NULL;
    }
    solvers[0] = peer_cublas_cg;
    solvers[1] = peer_cublas_pagerank;
    for (int p = 0; p < 3; p++) (void)cublasGetProperty((libraryPropertyType)p, &parts[p]);
    snprintf(version, sizeof version, "%d.%d.%d", parts[0], parts[1], parts[2]);
    return &module;
}
