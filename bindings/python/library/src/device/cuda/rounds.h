/* rounds.cu: what spryi_vector_ops of the plug-in has to start many times. */
#ifndef SPRY_CUDA_ROUNDS_H
#define SPRY_CUDA_ROUNDS_H

extern "C" {
#include "device/vector_ops.h"
}

spry_status spry_cuda_record_rounds(const spryi_vector_work *w, spryi_start_fn start, void *user, void **rounds,
                                    spry_error *err);
spry_status spry_cuda_replay_rounds(const spryi_vector_work *w, void *rounds, spry_error *err);
spry_status spry_cuda_see_rounds(void *rounds, void *state, size_t bytes, spry_error *err);
void spry_cuda_forget_rounds(void *rounds);

#endif
