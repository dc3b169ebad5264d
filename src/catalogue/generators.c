/* The list of generators. */
#include "catalogue/catalogue.h"

#include "generate/generator.h"
#ifdef SPRY_STUDIES
#include "study/kernels/study_generators.h"
#endif

#define ORDER ",order=natural,shuffle=0"
#define GENERATOR(name, parameters, kind, text)                                                                        \
    {                                                                                                                  \
        {sizeof(spry_generator_info), name, parameters, text}, &spryi_kind_##kind                                      \
    }

static const spryi_generator generators[] =
    {GENERATOR("grid5", "x=2000,y=2000,seed=3" ORDER, grid_star, "5-point stencil on an x*y grid"),
     GENERATOR("grid7", "x=140,y=140,z=140,seed=3" ORDER, grid_star, "7-point stencil on an x*y*z grid"),
     GENERATOR("grid7p", "x=140,y=140,z=140,seed=3,order=natural,shuffle=23", grid_star, "grid7, shuffled"),
     GENERATOR("grid9", "x=1500,y=1500,seed=3" ORDER, grid_full, "9-point stencil on an x*y grid"),
     GENERATOR("grid27", "x=110,y=110,z=110,seed=3" ORDER, grid_full, "27-point stencil on an x*y*z grid"),
     GENERATOR("grid27s", "x=80,y=80,z=80,seed=3" ORDER, grid_full, "grid27, smaller"),
     GENERATOR("fem3", "x=56,y=56,z=56,dof=3,seed=3" ORDER, grid_full, "27-point stencil with dof unknowns a point"),
     GENERATOR("fem3s", "x=40,y=40,z=40,dof=3,seed=3" ORDER, grid_full, "fem3, smaller"),
     GENERATOR("laplace5", "x=1000,y=1000,ax=1,ay=1" ORDER, laplace,
               "finite differences of -(ax u_xx + ay u_yy), positive definite"),
     GENERATOR("laplace7", "x=100,y=100,z=100,ax=1,ay=1,az=1" ORDER, laplace,
               "finite differences of -(ax u_xx + ay u_yy + az u_zz), positive definite"),
     GENERATOR("grid5a", "x=1000,y=1000,ax=1,ay=0.01" ORDER, laplace, "laplace5, anisotropic"),
     GENERATOR("grid7a", "x=100,y=100,z=100,ax=1,ay=1,az=0.01" ORDER, laplace, "laplace7, anisotropic"),
     GENERATOR("road", "side=1600,seed=19" ORDER, road, "side*side lattice that lacks 30 % of its edges"),
     GENERATOR("rgg", "scale=20,seed=5" ORDER, rgg,
               "random geometric graph of 2^scale points, radius 0.55 sqrt(ln n/n), numbered cell by cell"),
     GENERATOR("rgg20", "scale=20,seed=5" ORDER, rgg, "rgg, scale 20"),
     GENERATOR("rgg21", "scale=21,seed=5" ORDER, rgg, "rgg, scale 21"),
     GENERATOR("rgg21p", "scale=21,seed=5,order=natural,shuffle=23", rgg, "rgg21, shuffled"),
     GENERATOR("rmat", "scale=20,edges=16,seed=11" ORDER, rmat,
               "R-MAT .57 .19 .19 .05: 2^scale vertices, at most `edges` edges a vertex"),
     GENERATOR("rmat16", "scale=16,edges=16,seed=11" ORDER, rmat, "rmat, scale 16"),
     GENERATOR("rmat17", "scale=17,edges=16,seed=11" ORDER, rmat, "rmat, scale 17"),
     GENERATOR("rmat18", "scale=18,edges=16,seed=11" ORDER, rmat, "rmat, scale 18"),
     GENERATOR("rmat19", "scale=19,edges=16,seed=11" ORDER, rmat, "rmat, scale 19"),
     GENERATOR("rmat20", "scale=20,edges=16,seed=11" ORDER, rmat, "rmat, scale 20"),
     GENERATOR("rmat22", "scale=22,edges=8,seed=11" ORDER, rmat, "rmat, scale 22, 8 edges a vertex"),
     GENERATOR("uniform", "rows=1000000,degree=16,seed=13" ORDER, uniform, "`degree` random columns in each row"),
     GENERATOR("uni18", "rows=1500000,degree=18,seed=13" ORDER, uniform, "uniform, degree 18"),
     GENERATOR("circuit", "rows=3000000,seed=17" ORDER, circuit,
               "short rows near the diagonal and six nearly dense rows and columns"),
     GENERATOR("circuit1", "rows=1000000,seed=17" ORDER, circuit, "circuit, smaller"),
     GENERATOR("debruijn", "symbols=2,length=20,seed=3" ORDER, debruijn,
               "de Bruijn graph: words of `length` symbols, joined to those shifted by one"),
     GENERATOR("diagonal", "rows=1000000,seed=3" ORDER, diagonal, "a diagonal"),
     GENERATOR("banded", "rows=1000000,half=8,seed=3" ORDER, banded, "all entries at most `half` off the diagonal"),
     GENERATOR("arrow", "rows=1000000,width=1,seed=3" ORDER, arrow,
               "`width` dense rows and columns in front, and the diagonal"),
     GENERATOR("random", "rows=1000000,cols=1000000,density=0.00001,seed=29", random,
               "every entry stored with probability `density`"),
     GENERATOR("dense", "rows=2000,cols=2000,seed=3", dense, "every entry stored"),
     GENERATOR("empty", "rows=1000,cols=1000", empty, "no entry stored"),
#ifdef SPRY_STUDIES
     SPRYI_STUDY_GENERATORS(GENERATOR)
#endif
};

const spryi_generator *spryi_generator_at(int n)
{
    return n >= 0 && n < (int)(sizeof generators / sizeof *generators) ? &generators[n] : NULL;
}
