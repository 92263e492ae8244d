/* One policy in one state: what it does, drawn where it is stochastic. */
#ifndef LITMUS_ACTING_H
#define LITMUS_ACTING_H

#include <stdint.h>

#include "perceptron.h"
#include "squash.h"

enum { LITMUS_DETERMINISTIC = 0, LITMUS_GAUSSIAN = 1, LITMUS_CATEGORICAL = 2 };

typedef struct {
    litmus_shape shape;
    const float *params;
    litmus_squashing squashing;
    int64_t distribution;
    const float *half_range;   /* [A / 2] of a gaussian policy's actions: the unit of its spread */
    const float *low, *high;   /* [A / 2] what they are kept within */
    const double *mean;        /* [D] normalises observations */
    const double *inverse_std; /* [D] */
    float *inputs;             /* [D] */
    float *scratch;            /* litmus_scratch_size() floats */
    float *outputs;            /* [A], and room for 15 more */
    const void *drawn;         /* what chance gives in its next steps, where it is stochastic: */
    int64_t steps_drawn;       /* for so many; a standard normal float for each action (gaussian), */
} litmus_actor;                /* or a double from 0 to 1 (categorical) */

int64_t litmus_scratch_size(const litmus_shape *shape);

/* Action parameters for its `inputs`, which are normalised: into its `outputs`. */
void litmus_act(const litmus_actor *actor);

/* Act on a raw observation [D]; the first of `outputs` are then the action. Returns the number of
   the choice of a categorical policy, else 0; -1 where more must be drawn first. */
int64_t litmus_choose(litmus_actor *actor, const double *observation);

#endif
