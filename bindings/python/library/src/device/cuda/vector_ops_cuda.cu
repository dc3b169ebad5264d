/*
 * The table of the solvers' vector work on a GPU: passes (cg_passes.cu, rank_passes.cu), PageRank's set-up
 * (rank_links.cu) and rounds (rounds.cu).
 */
#include "device/cuda/passes.cuh"
#include "device/cuda/rounds.h"

extern const spryi_cg_passes spry_cuda_cg_passes;
extern const spryi_rank_passes spry_cuda_rank_passes;
extern const spryi_links_passes spry_cuda_links_passes;

/* In the order of the struct: C++17 has no names here. */
extern const spryi_vector_ops spry_cuda_vector_ops;
const spryi_vector_ops spry_cuda_vector_ops = {TILE,
                                               MOST_BLOCKS,
                                               SPRYI_MOST_AHEAD,
                                               &spry_cuda_cg_passes,
                                               &spry_cuda_rank_passes,
                                               spry_cuda_record_rounds,
                                               spry_cuda_replay_rounds,
                                               spry_cuda_see_rounds,
                                               spry_cuda_forget_rounds,
                                               &spry_cuda_links_passes};
