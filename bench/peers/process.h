/* What the parts of the module process share: an interpreter in a process of its own, spoken to in lines. */
#pragma once

#include "bench/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#define CONST_OFF(text) ((char *)(uintptr_t)(text)) /* posix_spawn's arguments lack const */

typedef struct process {
    pid_t id; /* 0: none */
    FILE *in; /* its answers, */
    int out;  /* our commands: the same socket */
    char line[512];
    int64_t rows, cols;
    int value_bytes;
    void *arrays; /* of C when it was fetched */
    char *shared; /* X and Y of several columns, or b and x of a method; NULL: none */
    size_t x_bytes, y_bytes;
    double us; /* of the last product with them */
} process;

/* Starts the interpreter, which names its version. UNSUPPORTED: there is none, or its script has not what it needs. */
int peer_process_start(process *p, char *const *arguments, spry_peer_cost *cost, spry_peer_error *error);
/* Sends a command, which ends with a blank behind its line; the rest of the answer, NULL with the reason in error. */
const char *peer_process_ask(process *p, const char *command, spry_peer_error *error);
/* Ends the process and gives back all that there is. */
void peer_process_destroy(void *state);

/* The interpreter that the variable names, else the one that was built for, where it is there, else another. */
const char *peer_process_interpreter(const char *variable, const char *built, const char *other);
/* A temporary file, whose path is a word of a line. */
FILE *peer_process_file(char *path, size_t size, spry_peer_error *error);
/* The arrays of CSR into it. 0: they were not written. */
int peer_process_put(FILE *file, const spry_peer_matrix *a);
/* A file of so many bytes that both map, as p->shared; the process is told by a command that takes its path. */
int peer_process_share(process *p, size_t bytes, const char *command, const char *arguments, spry_peer_error *error);

extern const spry_peer_solver peer_process_solvers[]; /* process_solvers.c's, so many: */
enum { PEER_PROCESS_SOLVERS = 2 };
