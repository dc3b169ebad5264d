#include "choose/structure.h"

#include "core/assemble.h"
#include "core/context.h"
#include "core/device.h"
#include "core/error.h"
#include "core/kernel.h"
#include "formats/csc/csc.h"

spry_status spryi_structure_of(spry_matrix **structure, const spry_matrix *A, spry_op op, spry_error *err)
{
    const spryi_device *d = spryi_device_at(A->context, A->a.device);
    spry_status status = SPRY_OK;
    spry_matrix *pattern = NULL, *here = NULL;
    *structure = NULL;
    if (A->a.device == 0 && op == SPRY_NO_TRANSPOSE)
        return spryi_matrix_as_csr(A->context, structure, A, A->a.value_type, err);
    SPRYI_TRY(spryi_matrix_without_values(&pattern, A, err));
    if (A->a.device > 0)
        SPRYI_TRY(spryi_matrix_fetch(d, &here, pattern, err));
    else
        here = spryi_matrix_retain(pattern);
    if (op == SPRY_TRANSPOSE)
        SPRYI_TRY(spryi_transposed(A->context, structure, here, err));
    else
        *structure = spryi_matrix_retain(here);
done:
    spryi_matrix_release(pattern);
    spryi_matrix_release(here);
    return status;
}
