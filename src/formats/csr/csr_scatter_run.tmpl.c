static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    static const spryi_csr_scatter_leaves leaves = {SPRY_FN(rows), SPRY_FN(stepped), SPRY_FN(shared), SPRY_FN(piece)};
    static const spryi_csr_scatter_leaves pattern = {SPRY_FN(rows_pattern), SPRY_FN(stepped_pattern),
                                                     SPRY_FN(shared_pattern), SPRY_FN(piece_pattern)};
    const spryi_csr *s = args->storage;
    return spryi_csr_drive_scatter(args, s->a.value_type == SPRY_PATTERN ? &pattern : &leaves);
}
