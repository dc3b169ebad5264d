/*
 * The table of vector passes on a GPU: passes (cg_passes.cu, rank_passes.cu), PageRank's set-up (rank_links.cu), and
 * recorded rounds of iterations. A round is recorded as a CUDA graph of the work that a method starts in a stream. One
 * call starts the graph. Then a copy of the state goes to pinned host memory. COPIES such copies exist, so that the
 * host can start more rounds before it reads an older copy.
 */
#include "device/cuda/cuda_common.cuh"
#include "device/cuda/passes.cuh"

extern "C" {
#include "device/vector_ops.h"
}

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { COPIES = 2 };

/* CUDA rejects a wait for the device while any stream of the process captures a graph, and ends that capture. */
static pthread_rwlock_t capture_lock = PTHREAD_RWLOCK_INITIALIZER;

cudaError_t spry_cuda_wait_for_device(void)
{
    pthread_rwlock_rdlock(&capture_lock);
    const cudaError_t code = cudaDeviceSynchronize();
    pthread_rwlock_unlock(&capture_lock);
    return code;
}

/* Recorded rounds, and host copies of the states after each replay. The copies are used cyclically. */
typedef struct recorded {
    cudaGraphExec_t graph;
    cudaEvent_t copied[COPIES];
    char *copies; /* COPIES times `bytes` */
    size_t bytes; /* bytes of the states of all columns */
    int64_t started, seen;
} recorded;

static void forget_rounds(void *rounds)
{
    recorded *r = (recorded *)rounds;
    if (!r) return;
    if (r->graph) spry_cuda_ignore(cudaGraphExecDestroy(r->graph));
    for (int k = 0; k < COPIES; k++)
        if (r->copied[k]) spry_cuda_ignore(cudaEventDestroy(r->copied[k]));
    if (r->copies) spry_cuda_ignore(cudaFreeHost(r->copies));
    free(r);
}

static cudaError_t create_copies(recorded *r)
{
    cudaError_t code = cudaHostAlloc((void **)&r->copies, COPIES * r->bytes, cudaHostAllocDefault);
    for (int k = 0; k < COPIES && code == cudaSuccess; k++)
        code = cudaEventCreateWithFlags(&r->copied[k], cudaEventDisableTiming);
    return code;
}

/* Captures the graph. The work's device is current. */
static spry_status capture_graph(recorded *r, spryi_start_fn start, void *user, spry_error *err)
{
    cudaStream_t stream = NULL;
    cudaGraph_t graph = NULL;
    spry_status status = SPRY_OK;
    cudaError_t code = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), ended = cudaSuccess;
    pthread_rwlock_wrlock(&capture_lock);
    if (code == cudaSuccess) code = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    if (code == cudaSuccess) {
        status = start(user, stream, err);
        ended = cudaStreamEndCapture(stream, &graph);
    }
    pthread_rwlock_unlock(&capture_lock);
    if (code == cudaSuccess) code = ended;
    if (status == SPRY_OK && code == cudaSuccess) code = cudaGraphInstantiate(&r->graph, graph, 0);
    /* upload now instead of at the first launch */
    if (status == SPRY_OK && code == cudaSuccess) code = cudaGraphUpload(r->graph, stream);
    if (graph) spry_cuda_ignore(cudaGraphDestroy(graph));
    if (stream) spry_cuda_ignore(cudaStreamDestroy(stream));
    return status == SPRY_OK && code != cudaSuccess ? spry_cuda_fail(err, code, "rounds of an iteration") : status;
}

static spry_status record_rounds(const spryi_vector_work *w, spryi_start_fn start, void *user, void **rounds,
                                 spry_error *err)
{
    const device_scope scope(w->ordinal);
    recorded *r = (recorded *)calloc(1, sizeof *r);
    if (!r) return spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: rounds of an iteration");
    r->bytes = (size_t)w->columns * SPRYI_STATE_BYTES;
    cudaError_t code = scope.code;
    if (code == cudaSuccess) code = create_copies(r);
    spry_status status = code == cudaSuccess ? SPRY_OK : spry_cuda_fail(err, code, "rounds of an iteration");
    if (status == SPRY_OK) status = capture_graph(r, start, user, err);
    if (status == SPRY_OK)
        *rounds = r;
    else
        forget_rounds(r);
    return status;
}

static spry_status replay_rounds(const spryi_vector_work *w, void *rounds, spry_error *err)
{
    const device_scope scope(w->ordinal);
    recorded *r = (recorded *)rounds;
    const int k = (int)(r->started % COPIES);
    cudaStream_t stream = (cudaStream_t)w->stream;
    cudaError_t code = scope.code;
    if (code == cudaSuccess) code = cudaGraphLaunch(r->graph, stream);
    if (code == cudaSuccess)
        code = cudaMemcpyAsync(r->copies + k * r->bytes, w->state.data, r->bytes, cudaMemcpyDeviceToHost, stream);
    if (code == cudaSuccess) code = cudaEventRecord(r->copied[k], stream);
    if (code != cudaSuccess) return spry_cuda_fail(err, code, "rounds of an iteration");
    r->started++;
    return SPRY_OK;
}

static spry_status see_rounds(void *rounds, void *state, size_t bytes, spry_error *err)
{
    recorded *r = (recorded *)rounds;
    const int k = (int)(r->seen % COPIES);
    const cudaError_t code = cudaEventSynchronize(r->copied[k]);
    if (code != cudaSuccess) return spry_cuda_fail(err, code, "rounds of an iteration");
    memcpy(state, r->copies + k * r->bytes, bytes);
    r->seen++;
    return SPRY_OK;
}

extern const spryi_cg_passes spry_cuda_cg_passes;
extern const spryi_rank_passes spry_cuda_rank_passes;
extern const spryi_links_passes spry_cuda_links_passes;

/* The values are in the order of the struct's fields, since C++17 has no designated initializers. */
extern const spryi_vector_ops spry_cuda_vector_ops;
const spryi_vector_ops spry_cuda_vector_ops =
    {TILE,          MOST_BLOCKS,   SPRYI_MOST_AHEAD, &spry_cuda_cg_passes, &spry_cuda_rank_passes,
     record_rounds, replay_rounds, see_rounds,       forget_rounds,        &spry_cuda_links_passes};
