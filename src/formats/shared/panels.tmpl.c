/* Functions for products with multiple vectors, in addition to panels.h. The templates of kernels include this file. */

/* Loads all lanes of a register from p. */
SPRYI_INLINE PANEL SPRY_FN(panel_all)(const SPRY_V *p)
{
    PANEL v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Returns alpha*sums + beta*y. Each operation rounds, as in products with one vector. */
SPRYI_INLINE PANEL SPRY_FN(panel_result)(const SPRY_V *y, int count, PANEL sums, SPRY_V alpha, SPRY_V beta)
{
    const PANEL scaled = alpha * sums;
    if (beta == 0) return scaled;
    const PANEL before = count == PANEL_LANES ? SPRY_FN(panel_all)(y) : PANEL_LOAD(y, count);
    return scaled + beta * before;
}

/* Writes y of the first `count` vectors in a register. */
SPRYI_PANEL_PUT void SPRY_FN(panel_put)(SPRY_V *y, int count, PANEL sums, SPRY_V alpha, SPRY_V beta, int stream)
{
    const PANEL result = SPRY_FN(panel_result)(y, count, sums, alpha, beta);
    if (count == PANEL_LANES && stream && (uintptr_t)y % sizeof result == 0) {
        PANEL_STREAM(y, result);
    } else if (count == PANEL_LANES && !stream) {
        memcpy(y, &result, sizeof result);
    } else {
        spryi_panel_copy_part(y, &result, (size_t)count * sizeof *y, stream);
    }
}
