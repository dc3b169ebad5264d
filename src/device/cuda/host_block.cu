/*
 * A block of host memory that kernels read and write, for questions and answers that are too small to be copied: a copy
 * takes longer than the kernel. One a process, from the first need until the last context is gone.
 */
#include "device/cuda/cuda_common.cuh"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *block;

int spry_cuda_take_host_block(void **taken)
{
    pthread_mutex_lock(&lock);
    cudaError_t code = cudaSuccess;
    if (!block) code = cudaHostAlloc(&block, SPRY_CUDA_HOST_BLOCK_BYTES, cudaHostAllocPortable);
    *taken = block;
    if (code != cudaSuccess) pthread_mutex_unlock(&lock);
    return code;
}

void spry_cuda_give_host_block(void)
{
    pthread_mutex_unlock(&lock);
}

void spry_cuda_free_host_block(void)
{
    pthread_mutex_lock(&lock);
    if (block) spry_cuda_ignore(cudaFreeHost(block));
    block = NULL;
    pthread_mutex_unlock(&lock);
}
