/* Solves A*x = b on a grid by Conjugate Gradient, and computes the PageRank of a graph with an error bound. */
#include <spry/io.h>
#include <spry/solve.h>
#include <spry/spry.h>
#include <stdio.h>

int main(void)
{
    spry_context *context = NULL;
    spry_matrix *grid = NULL, *graph = NULL;
    spry_vector x = {0}, b = {0}, rank = {0};
    spry_error err = SPRY_ERROR_INIT;
    spry_cg_options cg = SPRY_INIT(spry_cg_options);
    spry_cg_result solved = SPRY_INIT(spry_cg_result);
    spry_read_options links = SPRY_INIT(spry_read_options);
    spry_pagerank_result ranked = SPRY_INIT(spry_pagerank_result);
    cg.precond = SPRY_PRECOND_JACOBI;
    cg.tolerance = 1e-10;
    links.value_type = SPRY_PATTERN; /* every link has weight 1 */

    if (spry_context_create(&context, NULL, &err) != SPRY_OK ||
        spry_matrix_generate(context, &grid, "laplace5,x=60,y=60", NULL, &err) != SPRY_OK ||
        spry_vector_create(context, &x, 3600, SPRY_F64, 0, &err) != SPRY_OK ||
        spry_vector_create(context, &b, 3600, SPRY_F64, 0, &err) != SPRY_OK)
        goto done;
    for (int i = 0; i < 3600; i++) ((double *)b.data)[i] = 1;
    if (spry_cg(context, x, &solved, grid, spry_vector_as_const(b), &cg, &err) != SPRY_OK) goto done;
    printf("%s after %lld iterations, residual %.1e\n", spry_verdict_text(solved.verdict), (long long)solved.iterations,
           solved.true_residual);

    /* By default entry (i, j) is a link from i to j, and a node without outgoing links links to all nodes. */
    if (spry_matrix_generate(context, &graph, "rmat16,scale=10", &links, &err) != SPRY_OK ||
        spry_vector_create(context, &rank, spry_matrix_rows(graph), SPRY_F64, 0, &err) != SPRY_OK ||
        spry_pagerank(context, rank, &ranked, graph, NULL, &err) != SPRY_OK)
        goto done;
    int64_t best = 0;
    for (int64_t i = 1; i < rank.length; i++)
        if (((const double *)rank.data)[i] > ((const double *)rank.data)[best]) best = i;
    printf("node %lld has rank %.6f, the sum of all errors is at most %.1e\n", (long long)best,
           ((const double *)rank.data)[best], ranked.error_bound);
done:
    if (err.status != SPRY_OK) fprintf(stderr, "%s\n", err.message);
    spry_vector_destroy(context, &rank);
    spry_vector_destroy(context, &b);
    spry_vector_destroy(context, &x);
    spry_matrix_destroy(graph);
    spry_matrix_destroy(grid);
    spry_context_destroy(context);
    return err.status != SPRY_OK;
}
