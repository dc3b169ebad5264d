/*
 * Creation of a matrix's plans.
 *
 *   products 1, 2      PETSc's code, because analyzing the matrix takes longer than one or two products
 *   from the 3rd       a plan for few products: csr, with a set-up as long as one or two products
 *   33rd, 65th, ...    the library's choice, with expected products equal to the products so far
 *
 * A matrix that did n products is expected to do n more. So the choice is repeated after 32, 64, 128, ... products,
 * with updates expected at the rate observed. Set-up time then remains in proportion to the time of products.
 *
 * After a change of values, a plan with a copy of them is updated. After 4, 8, 16, ... updates of a plan, the choice is
 * also repeated. After a change of the structure, counting starts again. With -mat_spry_calls, the first product builds
 * the library's choice for that number of products. Decisions depend only on counts, not on measured times, so runs of
 * a program give the same bits.
 */
#include "spry_petsc.h"

enum { FIRST_PLAN = 2, FIRST_REVIEW = 32, FEW_CALLS = 7, UPDATES_TO_LEARN_FROM = 4 };

/*
 * Least number of entries for which the library is faster than PETSc, measured in docs/petsc.md. Ignored for a named
 * format or a GPU.
 */
enum { LEAST_ENTRIES = 8192, LEAST_ENTRIES_TRANSPOSED = 1024 };

#define PLANS_NAME "__spry_plans__"

/* ---- data composed with PETSc's objects ---- */
typedef struct Composed {
    void *data;
    void (*release)(void *);
} Composed;

#if PETSC_VERSION_LT(3, 23, 0)
static PetscErrorCode composed_destroy(void *context)
{
    Composed *composed = (Composed *)context;
#define PetscContainerSetCtxDestroy PetscContainerSetUserDestroy
#else
static PetscErrorCode composed_destroy(void **context)
{
    Composed *composed = *(Composed **)context;
#endif
    PetscFunctionBegin;
    composed->release(composed->data);
    PetscCall(PetscFree(composed->data));
    PetscCall(PetscFree(composed));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpryCompose(PetscObject object, const char name[], void *data, void (*release)(void *))
{
    PetscContainer container;
    Composed *composed;
    PetscFunctionBegin;
    PetscCall(PetscNew(&composed));
    composed->data = data;
    composed->release = release;
    PetscCall(PetscContainerCreate(PETSC_COMM_SELF, &container));
    PetscCall(PetscContainerSetPointer(container, composed));
    PetscCall(PetscContainerSetCtxDestroy(container, composed_destroy));
    PetscCall(PetscObjectCompose(object, name, (PetscObject)container));
    PetscCall(PetscContainerDestroy(&container));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpryComposed(PetscObject object, const char name[], void *data)
{
    PetscObject container;
    Composed *composed = NULL;
    PetscFunctionBegin;
    PetscCall(PetscObjectQuery(object, name, &container));
    if (container) PetscCall(PetscContainerGetPointer((PetscContainer)container, (void **)&composed));
    *(void **)data = composed ? composed->data : NULL;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the plans of a matrix ---- */

/*
 * A cache of plans, indexed by a hash of the matrix's address. It avoids PETSc's search for composed objects, which
 * compares names.
 */
enum { RECENT = 256 };
static struct {
    Mat A;
    PetscObjectId id;
    SpryPlans *plans;
} recent[RECENT];

static size_t recent_place(Mat A)
{
    return ((size_t)A >> 6) % RECENT;
}

static void plans_clear(SpryPlans *plans)
{
    for (int d = 0; d < 2; d++) {
        spry_spmv_plan_destroy(plans->directions[d].plan);
        plans->directions[d] = (SpryPlan){.next_review = FIRST_REVIEW, .next_update_review = UPDATES_TO_LEARN_FROM};
    }
    spry_matrix_destroy(plans->matrix);
    plans->matrix = NULL;
    (void)PetscFree(plans->filled_rows);
    (void)PetscFree(plans->filled_offsets);
    (void)PetscFree(plans->filled_values);
    plans->filled = 0;
}

static void plans_release(void *data)
{
    SpryPlans *const plans = (SpryPlans *)data;
    for (int k = 0; k < RECENT; k++)
        if (recent[k].plans == plans) recent[k].A = NULL, recent[k].plans = NULL;
    plans_clear(plans);
}

PetscErrorCode SpryPlansDrop(Mat A)
{
    PetscFunctionBegin;
    PetscCall(PetscObjectCompose((PetscObject)A, PLANS_NAME, NULL));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpryPlansGet(Mat A, SpryPlans **plans)
{
    const size_t place = recent_place(A);
    PetscObjectId id;
    PetscFunctionBegin;
    PetscCall(PetscObjectGetId((PetscObject)A, &id));
    if (PetscLikely(recent[place].A == A && recent[place].id == id)) {
        *plans = recent[place].plans;
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(SpryComposed((PetscObject)A, PLANS_NAME, plans));
    if (*plans && (*plans)->owner != A) { /* drop another matrix's plans, which PETSc attached to A */
        PetscCall(SpryPlansDrop(A));
        *plans = NULL;
    }
    if (!*plans) {
        PetscCall(PetscNew(plans));
        (*plans)->owner = A;
        PetscCall(SpryCompose((PetscObject)A, PLANS_NAME, *plans, plans_release));
    }
    recent[place].A = A;
    recent[place].id = id;
    recent[place].plans = *plans;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the library's matrix ---- */
PetscErrorCode SpryArraysBorrow(spry_layout layout, PetscInt rows, PetscInt cols, const PetscInt *offsets,
                                const PetscInt *indices, const PetscScalar *values, spry_matrix **matrix)
{
    spry_arrays arrays = SPRY_INIT(spry_arrays);
    PetscFunctionBegin;
    arrays.layout = layout;
    arrays.rows = rows;
    arrays.columns = cols;
    arrays.nnz = offsets[layout == SPRY_CSC ? cols : rows];
    arrays.offset_type = arrays.index_type = SPRY_PETSC_INDEX;
    arrays.value_type = SPRY_PETSC_VALUE;
    arrays.offsets = offsets;
    arrays.indices = indices;
    arrays.values = values;
    SpryCall(spry_matrix_create(spry_settings.context, matrix, &arrays, err));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpryMatrixBorrow(Mat A, PetscBool transposed, spry_matrix **matrix)
{
    PetscInt rows, cols;
    const PetscInt *offsets, *columns;
    PetscScalar *values;
    PetscFunctionBegin;
    PetscCall(MatGetLocalSize(A, &rows, &cols));
    PetscCall(MatSeqAIJGetCSRAndMemType(A, &offsets, &columns, &values, NULL));
    if (transposed) /* rows of A are columns of its transpose */
        PetscCall(SpryArraysBorrow(SPRY_CSC, cols, rows, offsets, columns, values, matrix));
    else
        PetscCall(SpryArraysBorrow(SPRY_CSR, rows, cols, offsets, columns, values, matrix));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Creates the library's matrix of the rows with entries. It shares A's columns and values and has its own offsets. */
static PetscErrorCode borrow_filled_rows(SpryPlans *plans)
{
    PetscInt k = 0;
    PetscFunctionBegin;
    PetscCall(PetscMalloc1(plans->filled, &plans->filled_rows));
    PetscCall(PetscMalloc1(plans->filled + 1, &plans->filled_offsets));
    PetscCall(PetscMalloc1(plans->filled, &plans->filled_values));
    for (PetscInt i = 0; i < plans->rows; i++)
        if (plans->offsets[i + 1] > plans->offsets[i]) {
            plans->filled_offsets[k] = plans->offsets[i];
            plans->filled_rows[k++] = i;
        }
    plans->filled_offsets[k] = plans->entries;
    PetscCall(SpryArraysBorrow(SPRY_CSR, plans->filled, plans->cols, plans->filled_offsets, plans->columns,
                               plans->values, &plans->matrix));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Creates the library's matrix. In host memory it omits empty rows if more than half are empty. */
static PetscErrorCode borrow(Mat A, SpryPlans *plans, int vector_device)
{
    PetscFunctionBegin;
    plans->filled = 0;
    for (PetscInt i = 0; i < plans->rows; i++) plans->filled += plans->offsets[i + 1] > plans->offsets[i];
    if (vector_device == SPRY_CPU && plans->filled < plans->rows - plans->rows / 2)
        PetscCall(borrow_filled_rows(plans));
    else
        PetscCall(SpryMatrixBorrow(A, PETSC_FALSE, &plans->matrix));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- creation and review of a plan ---- */

/*
 * Builds a plan and replaces the previous one. If memory does not suffice, keeps the previous plan or PETSc's own code
 * and stores the message in slot->refusal. Other errors are returned.
 */
static PetscErrorCode build_plan(Mat A, SpryPlans *plans, SpryDirection direction, int vector_device, PetscInt64 calls,
                                 PetscInt64 updates)
{
    SpryPlan *const slot = &plans->directions[direction];
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    spry_spmv_plan *plan = NULL;
    spry_error error;
    spry_status status;
    PetscFunctionBegin;
    PetscCall(PetscLogEventBegin(spry_settings.planning, A, 0, 0, 0));
    if (!plans->matrix) PetscCall(borrow(A, plans, vector_device));
    options.op = direction == SPRY_TRANSPOSED ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
    options.format = spry_settings.format;
    options.device = plans->filled_rows ? SPRY_CPU : spry_settings.device_number;
    options.vector_device = plans->filled_rows ? SPRY_CPU : vector_device;
    options.expected_calls = calls;
    options.expected_updates = updates;
    status = spry_spmv_plan_create(spry_settings.context, &plan, plans->matrix, &options, &error);
    PetscCall(PetscLogEventEnd(spry_settings.planning, A, 0, 0, 0));
    if (status == SPRY_OUT_OF_MEMORY || status == SPRY_TOO_LARGE) {
        PetscCall(PetscStrncpy(slot->refusal, error.message, sizeof slot->refusal));
        PetscCall(PetscInfo(A, "%s remains in use: %s\n", slot->plan ? "The previous plan" : "PETSc's own product",
                            error.message));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    if (status != SPRY_OK) SETERRQ(PETSC_COMM_SELF, SpryErrorCode(status), "Spry: %s", error.message);
    spry_spmv_plan_destroy(slot->plan);
    slot->plan = plan;
    slot->calls_before = slot->calls;
    slot->updates_before = slot->updates;
    slot->vector_device = vector_device;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/*
 * Builds a plan that expects as many products as there were so far. It expects updates at the rate that was observed
 * since the current plan was built.
 */
static PetscErrorCode review(Mat A, SpryPlans *plans, SpryDirection direction)
{
    SpryPlan *const slot = &plans->directions[direction];
    const PetscInt64 calls = PetscMax(slot->calls, spry_settings.calls), since = slot->calls - slot->calls_before;
    const double updates = (double)calls * (double)(slot->updates - slot->updates_before) / (double)PetscMax(since, 1);
    PetscFunctionBegin;
    PetscCall(build_plan(A, plans, direction, slot->vector_device, calls, (PetscInt64)updates));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool worth_a_call(const SpryPlans *plans, SpryDirection direction)
{
    const PetscInt least = direction == SPRY_TRANSPOSED ? LEAST_ENTRIES_TRANSPOSED : LEAST_ENTRIES;
    const PetscBool is_automatic = (PetscBool)(!spry_settings.format_named && spry_settings.device_number == SPRY_CPU);
    return (PetscBool)(plans->entries >= (is_automatic ? least : 1));
}

/* Counts a product. Builds or reviews the plan if the number of products so far requires it. */
static PetscErrorCode plan_when_due(Mat A, SpryPlans *plans, SpryDirection direction, int vector_device)
{
    SpryPlan *const slot = &plans->directions[direction];
    const PetscInt expected_calls = spry_settings.calls;
    PetscFunctionBegin;
    slot->calls++;
    if (slot->refusal[0] || !worth_a_call(plans, direction)) PetscFunctionReturn(PETSC_SUCCESS);
    if (slot->plan && slot->vector_device != vector_device) { /* the vectors changed device: build new plans */
        plans_clear(plans);
        slot->calls = FIRST_PLAN + 1;
    }
    if (!slot->plan && (expected_calls || slot->calls > FIRST_PLAN)) {
        PetscCall(build_plan(A, plans, direction, vector_device, expected_calls ? expected_calls : FEW_CALLS, 0));
    } else if (slot->plan && !expected_calls && !spry_settings.format_named && slot->calls > slot->next_review) {
        slot->next_review *= 2;
        PetscCall(review(A, plans, direction));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode take_new_values(Mat A, SpryPlans *plans)
{
    PetscFunctionBegin;
    PetscCall(PetscLogEventBegin(spry_settings.updating, A, 0, 0, 0));
    for (int d = 0; d < 2; d++) {
        SpryPlan *const slot = &plans->directions[d];
        const spry_spmv_plan *const before = slot->plan;
        spry_spmv_plan_info info = SPRY_INIT(spry_spmv_plan_info);
        info.struct_size = offsetof(spry_spmv_plan_info, baseline); /* no predictions: they would inspect the matrix */
        slot->updates++;
        if (!slot->plan) continue;
        SpryCall(spry_spmv_plan_get_info(slot->plan, &info, err));
        if (info.values_in_place) continue;
        if (slot->updates - slot->updates_before >= slot->next_update_review && !spry_settings.format_named) {
            slot->next_update_review *= 2;
            PetscCall(review(A, plans, (SpryDirection)d));
        }
        if (slot->plan == before) /* no new plan, for example because memory was short */
            SpryCall(spry_spmv_plan_update(slot->plan, NULL, err));
    }
    PetscCall(PetscLogEventEnd(spry_settings.updating, A, 0, 0, 0));
    PetscFunctionReturn(PETSC_SUCCESS);
}

/*
 * Adapts the plans after a change of A: updates them if only values changed, else drops them. Also compares the number
 * of entries, because MatResetPreallocation changes neither the arrays nor the nonzero state.
 */
static PetscErrorCode take_current_matrix(Mat A, SpryPlans *plans, PetscObjectState state)
{
    PetscObjectState nonzero_state;
    const PetscInt *offsets, *columns;
    PetscScalar *values;
    PetscInt rows, cols;
    PetscFunctionBegin;
    PetscCall(MatGetLocalSize(A, &rows, &cols));
    PetscCall(MatGetNonzeroState(A, &nonzero_state));
    PetscCall(MatSeqAIJGetCSRAndMemType(A, &offsets, &columns, &values, NULL));
    if (nonzero_state == plans->nonzero_state && offsets == plans->offsets && columns == plans->columns &&
        values == plans->values && cols == plans->cols && offsets[rows] == plans->entries) {
        PetscCall(take_new_values(A, plans));
    } else {
        plans_clear(plans);
        plans->rows = rows;
        plans->cols = cols;
        plans->nonzero_state = nonzero_state;
        plans->offsets = offsets;
        plans->columns = columns;
        plans->values = values;
        plans->entries = offsets[rows];
    }
    plans->state = state;
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpryPlansForProduct(Mat A, SpryDirection direction, int vector_device, SpryPlans **found,
                                   spry_spmv_plan **plan)
{
    SpryPlans *plans;
    PetscObjectState state;
    PetscFunctionBegin;
    PetscCall(SpryPlansGet(A, &plans));
    PetscCall(PetscObjectStateGet((PetscObject)A, &state));
    if (state != plans->state || !plans->offsets) PetscCall(take_current_matrix(A, plans, state));
    PetscCall(plan_when_due(A, plans, direction, vector_device));
    *found = plans;
    *plan = plans->directions[direction].plan;
    PetscFunctionReturn(PETSC_SUCCESS);
}
