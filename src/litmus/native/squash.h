/* From a network's raw outputs to action parameters, and the way back for gradients. */
#ifndef LITMUS_SQUASH_H
#define LITMUS_SQUASH_H

#include <stdint.h>

#include "kernels.h"

/* What f is, by the bounds that an action has: x, softplus(x), -softplus(-x), tanh(x). */
enum { LITMUS_UNBOUNDED = 0, LITMUS_ABOVE = 1, LITMUS_BELOW = -1, LITMUS_BETWEEN = 2 };

/* Each action parameter is center + scale f(output); or all of them are a softmax. */
typedef struct {
    int64_t size;         /* A */
    int64_t is_softmax;   /* then nothing of what follows is used */
    int64_t all_between;  /* whether all kinds are LITMUS_BETWEEN */
    const int64_t *kinds; /* [A] */
    const float *center;  /* [A] */
    const float *scale;   /* [A] */
} litmus_squashing;

/* In place, values [rows, A] with room for 15 more. slopes [rows, A], or NULL: what
   litmus_unsquash needs. */
void litmus_squash(const litmus_squashing *squashing, const litmus_elementwise *by, int64_t rows,
                   float *values, float *slopes);

/* From the gradient of action parameters to that of the outputs, in place. */
void litmus_unsquash(const litmus_squashing *squashing, int64_t rows, const float *slopes,
                     float *gradient);

#endif
