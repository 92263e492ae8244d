/* What one policy does in the probing states, and the gradient of its merit: of the weighed sum of
   how much it does like each of some other policies. */
#ifndef LITMUS_MERIT_H
#define LITMUS_MERIT_H

#include <stdint.h>

#include "perceptron.h"
#include "squash.h"

typedef struct {
    litmus_population policy;  /* one, in K probing states */
    litmus_squashing squashing;
    float *outputs;            /* [K, A], with room for 15 more */
    float *slopes;             /* [K, A] */
    const double *units;       /* [2, A]: centres and half ranges of the actions */
    double *fingerprint;       /* [F = K A]: what it does, in these units */
    int64_t others;            /* N */
    const double *references;  /* [N, F]: what they do */
    const double *weights;     /* [N] */
    double unit;               /* of the mean squared difference d²: likeness is */
    double far_share, corner;  /* (1 - far_share) exp(-d² / 2) + far_share exp(-√(d² + corner)) */
} litmus_merit;

/* Fill `fingerprint`. */
void litmus_ask(const litmus_merit *merit);

/* Likewise, and fill the gradient of the merit in the policy's parameters [P]; `room` is for F
   numbers. */
void litmus_find_uphill(const litmus_merit *merit, double *room, float *params_gradient);

#endif
