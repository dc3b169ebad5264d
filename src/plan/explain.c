/* Explains the choice of "auto": the ranking of the formats and its features. */
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "catalogue/catalogue.h"
#include "choose/choose.h"
#include "formats/csr/csr.h"
#include "formats/shared/storage_limits.h"
#include "plan/explanation.h"
#include "plan/plan.h"
#include "spry/tune.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static spry_status check_index(int index, int count, spry_error *err)
{
    if (index >= 0 && index < count) return SPRY_OK;
    return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "index", index, count - 1, "index is %d, expected 0 to %d",
                            index, count - 1);
}

/* ---- classes -------------------------------------------------------------------------------------------- */

spry_status spry_device_class_get_info(spry_device_class_info *info, int index, spry_error *err)
{
    if (!info) return spryi_fail_missing(err, "info");
    SPRYI_OK_OR_RETURN(SPRYI_CHECK_OUTPUT(info, err));
    const spryi_device_class *c = index >= 0 ? spryi_device_class_at(index) : NULL;
    if (!c) return spryi_fail_value(err, SPRY_UNKNOWN_NAME, "index", index, 0, "device class %d does not exist", index);
    const spry_device_class_info result = {.struct_size = sizeof result,
                                           .name = c->name,
                                           .title = c->title,
                                           .device_kind = c->driver,
                                           .fitted = c->fitted};
    SPRYI_GIVE(info, &result);
    return SPRY_OK;
}

/* ---- creation ------------------------------------------------------------------------------------------ */

/*
 * Finds the class by name. If name is NULL, finds the class of the plan's device. *present is that device, or NULL if
 * it is not usable.
 */
static spry_status find_class(const spryi_device_class **found, const spryi_device **present,
                              const spry_context *context, const spry_matrix *A, const spry_spmv_options *o,
                              const char *name, spry_error *err)
{
    if (name) return spryi_find_class(context, found, name, err);
    const int number = o->device == SPRY_DEVICE_DEFAULT ? A->a.device : spryi_device_number(o->device);
    *present = spryi_device_at(context, number);
    if (!*present)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "device", o->device, 0,
                                "device is %d, but no such device exists", o->device);
    *found = spryi_class_of(*present);
    if (!(*present)->ops) *present = NULL;
    return SPRY_OK;
}

/* Lists the ranked formats, then the formats of the catalogue that have no rates. */
static void list_formats(spry_explanation *e)
{
    for (; e->candidates < e->ranking.count; e->candidates++)
        e->formats[e->candidates] = e->ranking.list[e->candidates].format;
    for (int f = 0; spryi_format_at(f) && e->candidates < SPRYI_MOST_CANDIDATES; f++) {
        bool ranked = false;
        for (int k = 0; k < e->ranking.count; k++)
            ranked |= strcmp(e->ranking.list[k].format, spryi_format_at(f)->name) == 0;
        if (!ranked) e->formats[e->candidates++] = spryi_format_at(f)->name;
    }
}

/*
 * Returns the name of the plan's kernel if the ranking lists that kernel as a row of its own. Returns NULL if the
 * format selects it automatically.
 */
static const char *ranked_kernel(const spryi_ranking *r, const spryi_plan *plan)
{
    for (int k = 0; k < r->count; k++) {
        const spryi_estimate *e = &r->list[k];
        if (e->kernel && strcmp(e->format, plan->target.format->name) == 0 &&
            strcmp(e->kernel, plan->target.kernel->name) == 0)
            return e->kernel;
    }
    return NULL;
}

/* Builds the plan, to get the times of its trial and the final choice. */
static spry_status measure(spry_explanation *e, const spry_matrix *A, const spry_spmv_options *o, spry_error *err)
{
    spryi_plan plan;
    e->trial.measure_again = true;
    SPRYI_OK_OR_RETURN(spryi_plan_one(e->context, &plan, A, o, &e->trial, NULL, err));
    e->choice.format = plan.target.format;
    e->choice.kernel = ranked_kernel(&e->ranking, &plan);
    e->choice.code = plan.target.reason_code;
    memcpy(e->choice.reason, plan.target.reason, sizeof e->choice.reason);
    spryi_discard_plan(&plan);
    return SPRY_OK;
}

/*
 * Reduces the set-up time of csr if csr was chosen for few calls. On a CPU, set-up then does not search for spans. With
 * still fewer calls, set-up does not search for runs either. The search for runs takes half the time of a product.
 * formats/csr/csr.h explains spans and runs.
 */
static void reduce_setup(spryi_ranking *r, const spryi_choice *choice, const spry_spmv_options *o)
{
    spryi_estimate *csr = &r->list[r->csr];
    if (choice->code != SPRY_REASON_FEW_CALLS || !spryi_class_is_cpu(r->device)) return;
    if (o->expected_calls == 0 || o->expected_calls >= SPRYI_CSR_CALLS_FOR_SPANS) return;
    const double of_a_column = csr->us / (double)r->columns;
    csr->setup_us = o->expected_calls < SPRYI_CSR_CALLS_FOR_RUNS ? 0 : fmin(csr->setup_us, of_a_column / 2);
}

/* ---- the memory limit ---- */

/* One explain request. */
typedef struct request {
    const spry_matrix *given; /* the caller's matrix */
    /* The caller's matrix. If it is BSR and a format can read its blocks, `stored` has the blocks as a storage. */
    const spry_matrix *stored;
    const spry_matrix *A; /* the caller's matrix, with all entries in arrays */
    const spry_spmv_options *o;
    const spryi_device_class *device; /* class that times are predicted for */
    const spryi_device *present;      /* the plan's device; NULL: a class was named */
} request;

/* Returns the bytes of a GPU plan's copies of vectors, if the vectors are in host memory; else 0. */
static int64_t copied_vectors(const request *q)
{
    const spry_spmv_options *o = q->o;
    const int vector_device = o->vector_device == SPRY_DEVICE_DEFAULT ? q->A->a.device
                                                                      : spryi_device_number(o->vector_device);
    if (spryi_class_is_cpu(q->device) || vector_device != 0) return 0;
    return (q->A->a.rows + q->A->a.columns) * (int64_t)spry_type_bytes(o->vector_type) * (o->row_major ? 2 : 1);
}

/*
 * Computes the bytes that a plan would own, from the sizes of a host build. If the device is missing, the plan owns all
 * of its storage.
 */
static spry_status bytes_to_own(int64_t *bytes, spry_explanation *e, const request *q, const char *format,
                                spry_error *err)
{
    spryi_storage storage = {0};
    spry_spmv_options named = *q->o;
    named.format = format;
    SPRYI_OK_OR_RETURN(spryi_predict_storage(e->context, &storage, q->given, &named, err));
    *bytes = spryi_class_is_cpu(q->device) || q->present ? storage.owned_bytes : storage.bytes;
    return SPRY_OK;
}

/*
 * Returns SPRY_TOO_LARGE if a plan in csr would exceed the limit. Builds the plan if its device is present, so that the
 * message is the one that creating a plan gives.
 */
static spry_status try_csr(spry_explanation *e, const request *q, spry_error *why)
{
    spry_spmv_plan *plan = NULL;
    spry_spmv_options named = *q->o;
    int64_t bytes = 0;
    named.format = "csr";
    if (q->present) {
        named.kernel = e->choice.kernel;
        const spry_status status = spry_spmv_plan_create(e->context, &plan, q->given, &named, why);
        spry_spmv_plan_destroy(plan);
        return status == SPRY_TOO_LARGE || status == SPRY_OUT_OF_MEMORY ? status : SPRY_OK;
    }
    SPRYI_OK_OR_RETURN(bytes_to_own(&bytes, e, q, "csr", why));
    return spryi_check_memory_limit(q->o, "csr", bytes + copied_vectors(q), why);
}

/*
 * Fails because csr exceeds the limit. Reports the bytes of csr. If the smallest ranked format needs fewer bytes,
 * also reports that format.
 */
static spry_status fail_over_limit(spry_explanation *e, const request *q, const spry_error *why, spry_error *err)
{
    const spryi_ranking *r = &e->ranking;
    spry_spmv_options unlimited = *q->o;
    request needs = *q; /* the request without a limit */
    const char *least = NULL;
    int64_t fewest = why->value;
    unlimited.memory_limit_bytes = INT64_MAX;
    needs.o = &unlimited;
    for (int k = 0; k < r->allowed; k++) {
        int64_t bytes = 0;
        const char *format = r->list[k].format;
        if (strcmp(format, "csr") == 0 || bytes_to_own(&bytes, e, &needs, format, NULL) != SPRY_OK) continue;
        bytes += copied_vectors(q);
        if (bytes >= fewest) continue;
        fewest = bytes;
        least = format;
    }
    if (!least) return spryi_hand_on(err, why);
    return spryi_fail_value(err, SPRY_TOO_LARGE, "memory_limit_bytes", why->value, why->limit,
                            "%s; the smallest, in %s, has %lld", why->message, least, (long long)fewest);
}

/*
 * Replaces a format that would exceed the limit by csr. Fails with SPRY_TOO_LARGE, as a plan does, if csr would exceed
 * the limit.
 */
static spry_status keep_to_limit(spry_explanation *e, const request *q, spry_error *err)
{
    const char *format = e->choice.format->name;
    spry_error why = SPRY_ERROR_INIT;
    int64_t bytes = 0;
    if (q->o->memory_limit_bytes == 0) return SPRY_OK;
    if (strcmp(format, "csr") != 0) {
        SPRYI_OK_OR_RETURN(bytes_to_own(&bytes, e, q, format, err));
        if (bytes + copied_vectors(q) <= q->o->memory_limit_bytes) return SPRY_OK;
        spryi_choose_instead(&e->choice, "csr", format);
        e->choice.kernel = NULL;
    }
    if (spryi_is_measured(q->o->policy) || q->given->stored)
        /* The plan that measure() builds checks the limit. A plan of a container owns no storage. */
        return SPRY_OK;
    const spry_status status = try_csr(e, q, &why);
    if (status == SPRY_TOO_LARGE) return fail_over_limit(e, q, &why, err);
    return status == SPRY_OK ? SPRY_OK : spryi_hand_on(err, &why);
}

/* ---- sizes ---- */

/* Predicts the sizes of one format, or of all formats that can be predicted. */
static spry_status predict_storages(spry_explanation *e, const request *q, const char *of, spry_error *err)
{
    const bool all = strcmp(of, "all") == 0;
    const spryi_format *named = NULL;
    int64_t parameters[SPRYI_PARAMETERS];
    if (!all) SPRYI_OK_OR_RETURN(spryi_parse_format(&named, parameters, of, err));
    for (int k = 0; k < e->candidates; k++) {
        spry_spmv_options o = *q->o;
        spryi_storage *storage = &e->storages[k];
        if (named && strcmp(named->name, e->formats[k]) != 0) continue;
        o.format = named ? of : e->formats[k];
        const spry_status status = spryi_predict_storage(e->context, storage, q->given, &o, named ? err : NULL);
        if (status == SPRY_OK) continue;
        if (named || status == SPRY_OUT_OF_MEMORY)
            return named ? status : spryi_fail(err, status, NULL, "out of memory: the sizes of %s", o.format);
        storage->format = NULL; /* the format does not support these types */
    }
    return SPRY_OK;
}

/* ---- the whole explanation ---------------------------------------------------------------------------- */

/*
 * Scales all times to the memory bandwidth of a CPU that is present. All times are multiplied by the same factor, so
 * that the choice does not change.
 */
static void scale_to_device(spryi_ranking *r, const request *q)
{
    const double table = r->list[r->csr].us;
    const double measured = q->present ? spryi_measured_csr_us(q->present, q->o, &q->A->a, table) : 0;
    for (int k = 0; k < r->count && measured > table; k++) {
        r->list[k].us *= measured / table;
        r->list[k].setup_us *= measured / table;
    }
}

static spry_status explain(spry_explanation *e, const request *q, spry_error *err)
{
    const spry_matrix *A = q->A;
    const spry_spmv_options *o = q->o;
    const spryi_device_class *device = q->device;
    const spry_arrays *a = &A->a;
    const bool has_entries = a->nnz > 0;
    const double columns = o->count > 1 ? (double)o->count : 1, numbers = (double)(a->rows + a->columns);
    if (has_entries) SPRYI_OK_OR_RETURN(spryi_rank_for(&e->ranking, A, o, device, err));
    SPRYI_OK_OR_RETURN(spryi_choose_on(A, o, device, has_entries ? &e->ranking : NULL, &e->choice, err));
    if (spryi_may_read_stored(q->stored, o)) spryi_choose_stored(&e->choice, q->stored->stored);
    SPRYI_OK_OR_RETURN(keep_to_limit(e, q, err));
    if (has_entries) reduce_setup(&e->ranking, &e->choice, o);
    e->ranking.device = device;
    e->ranking.calls = spryi_calls_counted(o);
    e->op = o->op;
    if (has_entries) scale_to_device(&e->ranking, q);
    e->csr_bytes = spryi_csr_bytes(a, a->nnz) + columns * numbers * (double)spry_type_bytes(o->vector_type);
    list_formats(e);
    return spryi_is_measured(o->policy) ? measure(e, A, o, err) : SPRY_OK;
}

spry_status spry_spmv_explain(spry_context *context, spry_explanation **explanation, const spry_matrix *A,
                              const spry_explain_options *options, spry_error *err)
{
    const char *missing = !context ? "context" : !explanation ? "explanation" : !A ? "A" : NULL;
    if (missing) return spryi_fail_missing(err, missing);
    spry_status status = SPRY_OK;
    spry_explain_options given;
    spry_spmv_options o;
    spry_matrix *stored = NULL, *entries = NULL;
    spry_explanation *made = NULL;
    const spryi_device_class *device;
    const spryi_device *present = NULL;
    SPRYI_OK_OR_RETURN(SPRYI_TAKE(&given, options, err));
    SPRYI_OK_OR_RETURN(SPRYI_TAKE(&o, given.spmv, err));
    o.format = o.kernel = o.ordering = NULL;
    SPRYI_OK_OR_RETURN(spryi_check_spmv_options(&o, err));
    SPRYI_OK_OR_RETURN(spryi_vector_type_of(&o.vector_type, A, &o, err));
    if (given.device_class && spryi_is_measured(o.policy))
        return spryi_fail(err, SPRY_UNSUPPORTED, "device_class",
                          "device_class is %s, but the policy \"measure\" times on the plan's device: expected NULL",
                          given.device_class);
    SPRYI_OK_OR_RETURN(find_class(&device, &present, context, A, &o, given.device_class, err));
    SPRYI_TRY(spryi_blocks_as_stored(&stored, A, err));
    SPRYI_TRY(spryi_matrix_entries(stored, &entries, err));
    SPRYI_TRY(SPRYI_NEW(context, &made, 1, "explanation", err));
    memset(made, 0, sizeof *made); /* too large for a temporary on the stack */
    made->context = spryi_context_retain(context);
    spryi_copy_class(&made->own, device);
    const request q = {.given = A, .stored = stored, .A = entries, .o = &o, .device = &made->own.c, .present = present};
    SPRYI_TRY(explain(made, &q, err));
    if (given.storage_of) SPRYI_TRY(predict_storages(made, &q, given.storage_of, err));
    *explanation = made;
    made = NULL;
done:
    spryi_matrix_release(stored);
    spryi_matrix_release(entries);
    spry_explanation_destroy(made);
    return status;
}

void spry_explanation_destroy(spry_explanation *e)
{
    if (!e) return;
    spry_context *context = e->context;
    spryi_release(context, e);
    spryi_context_release(context);
}

/* ---- queries ------------------------------------------------------------------------------------------- */

/* ---- features of the ranking, by name ---- */

enum { GENERAL_FEATURES = 19, MOST_FEATURES = GENERAL_FEATURES + SPRYI_MOST_ESTIMATED * SPRYI_MOST_FAMILY_FEATURES };

static int list_general(spryi_feature_value *list, const spryi_features *f)
{
    const spryi_row_profile *rows = &f->lengths;
    const spryi_feature_value general[] =
        {{"mean_row", "entries of the mean row", rows->mean},
         {"longest_row", "entries of the longest row", rows->longest},
         {"deviation", "deviation of row lengths, as a share of their mean", rows->deviation},
         {"body_deviation", "the same without the longest hundredth of the rows", rows->body_deviation},
         {"empty_rows", "share of the rows", rows->empty},
         {"variance", "of row lengths; regular: at most 10", rows->variance},
         {"median_row", "entries that half of the rows do not pass", rows->quantiles[0]},
         {"row_90", "the same of nine tenths of the rows", rows->quantiles[1]},
         {"row_99", "the same of 99 hundredths", rows->quantiles[2]},
         {"slots", "slots an entry, of slices of 32 rows sorted by length among 256", f->slots},
         {"slot_sectors", "sectors (32 bytes) of x an entry that the n-th entries of 32 rows meet", f->slot_sectors},
         {"warp_sectors", "the same of 32 entries that follow each other", f->warp_sectors},
         {"near_sectors", "the same of 128 rows that follow each other", f->near_sectors},
         {"far_sectors", "those of these over 512 KB of x from the diagonal", f->far_sectors},
         {"adjacent", "share of entries whose right neighbour is also an entry", f->relations.adjacent},
         {"repeated", "share of entries whose columns follow from the row before", f->relations.repeated},
         {"narrow_bytes", "bytes of a value in formats that narrow values", f->narrow.floats},
         {"table_bytes", "the same in formats that also use tables of values", f->narrow.tables},
         {"scattered", "1: neighbouring entries gather x from all over", f->scattered}};
    _Static_assert(sizeof general / sizeof *general == GENERAL_FEATURES, "all of them");
    memcpy(list, general, sizeof general);
    return GENERAL_FEATURES;
}

/*
 * Lists the features of the ranking: the general features, then those that formats report. Returns the number of
 * features.
 */
static int list_features(spryi_feature_value list[MOST_FEATURES], const spry_explanation *e)
{
    const spryi_features *f = &e->ranking.features;
    if (e->ranking.count == 0) return 0;
    int count = list_general(list, f);
    for (int n = 0; spryi_estimated_at(n); n++) {
        const spryi_estimator *own = spryi_estimated_at(n)->choice.estimator;
        if (own->report) count += own->report(&list[count], f, &f->guesses[n]);
    }
    return count;
}

/* ---- the functions ---- */

spry_status spry_explanation_get_info(const spry_explanation *e, spry_explanation_info *info, spry_error *err)
{
    if (!e || !info) return spryi_fail_missing(err, !e ? "explanation" : "info");
    SPRYI_OK_OR_RETURN(SPRYI_CHECK_OUTPUT(info, err));
    const spryi_device_class *c = e->ranking.device;
    spryi_feature_value list[MOST_FEATURES];
    const spry_explanation_info result = {.struct_size = sizeof result,
                                          .device_class = c->name,
                                          .fitted = c->fitted,
                                          .format = e->choice.format->name,
                                          .reason_code = e->choice.code,
                                          .reason = e->choice.reason,
                                          .calls = e->ranking.calls,
                                          .threads = spryi_class_is_cpu(c) ? e->ranking.threads : 0,
                                          .candidates = e->candidates,
                                          .kernel = e->choice.kernel ? e->choice.kernel : "",
                                          .features = list_features(list, e)};
    SPRYI_GIVE(info, &result);
    return SPRY_OK;
}

static int64_t break_even(const spryi_estimate *k, const spryi_estimate *csr)
{
    if (k == csr) return 0;
    if (k->us >= csr->us) return SPRY_NEVER;
    const double calls = ceil(k->setup_us / (csr->us - k->us));
    return calls < 9e18 ? (int64_t)calls : INT64_MAX;
}

static void add_measured(const spryi_trial *trial, spry_candidate *result)
{
    for (int c = 0; c < trial->count; c++) {
        const int other = result->kernel[0] && strcmp(trial->timed[c].kernel, result->kernel) != 0;
        if (other || strcmp(trial->timed[c].format, result->format) != 0) continue;
        result->measured_us = trial->timed[c].us;
        result->measured_setup_us = trial->timed[c].setup_us;
    }
}

static void add_storage(const spryi_storage *storage, spry_candidate *result)
{
    if (!storage->format) return;
    result->parameters = storage->parameters;
    result->storage_bytes = storage->bytes;
    result->owned_bytes = storage->owned_bytes;
    result->elements = storage->words;
    result->padding = storage->padding;
    result->over_limit = storage->refused;
}

static const char *why_not(const spry_explanation *e, const char *format)
{
    if (strcmp(format, "csc") != 0) return "it has no rates: it was seldom the fastest where it was measured";
    return e->op == SPRY_TRANSPOSE ? "csr of the transposed matrix is the same" : "it is for transposed products";
}

spry_status spry_explanation_get_candidate(const spry_explanation *e, spry_candidate *candidate, int index,
                                           spry_error *err)
{
    if (!e || !candidate) return spryi_fail_missing(err, !e ? "explanation" : "candidate");
    SPRYI_OK_OR_RETURN(SPRYI_CHECK_OUTPUT(candidate, err));
    SPRYI_OK_OR_RETURN(check_index(index, e->candidates, err));
    const spryi_ranking *r = &e->ranking;
    spry_candidate result = {.struct_size = sizeof result,
                             .format = e->formats[index],
                             .refused = why_not(e, e->formats[index]),
                             .kernel = "",
                             .parameters = "",
                             .storage_bytes = -1,
                             .break_even_calls = SPRY_NEVER};
    if (index < r->count) {
        const spryi_estimate *k = &r->list[index];
        result.refused = k->refused ? k->refused : "";
        result.kernel = k->kernel ? k->kernel : "";
        result.predicted_us = k->us;
        result.setup_us = k->setup_us;
        result.total_us = k->us > 0 ? k->setup_us + (double)r->calls * k->us : 0;
        result.bytes = k->bytes;
        if (r->device->copy > 0 && k->us > 0) result.roof = e->csr_bytes / r->device->copy / k->us;
        if (k->us > 0) result.break_even_calls = break_even(k, &r->list[r->csr]);
    }
    add_measured(&e->trial, &result);
    add_storage(&e->storages[index], &result);
    SPRYI_GIVE(candidate, &result);
    return SPRY_OK;
}

spry_status spry_explanation_get_feature(const spry_explanation *e, spry_feature *feature, int index, spry_error *err)
{
    if (!e || !feature) return spryi_fail_missing(err, !e ? "explanation" : "feature");
    SPRYI_OK_OR_RETURN(SPRYI_CHECK_OUTPUT(feature, err));
    spryi_feature_value list[MOST_FEATURES];
    SPRYI_OK_OR_RETURN(check_index(index, list_features(list, e), err));
    const spry_feature result = {.struct_size = sizeof result,
                                 .name = list[index].name,
                                 .text = list[index].text,
                                 .value = list[index].value};
    SPRYI_GIVE(feature, &result);
    return SPRY_OK;
}
