/* Whole updates of a fingerprint evaluator and of a policy: probing actions, squashed; the head;
   the error; and back. */
#ifndef LITMUS_EVALUATOR_H
#define LITMUS_EVALUATOR_H

#include <stdint.h>

#include "perceptron.h"
#include "squash.h"

typedef struct {
    litmus_population policies;  /* B policies in K probing states */
    litmus_squashing squashing;  /* of their outputs */
    litmus_population head;      /* one network with B inputs of K A numbers: `answers` */
    float *answers;              /* [B, K, A] fingerprints, with room for 15 more */
    float *slopes;               /* [B, K, A] */
    float *values;               /* [B] predicted returns */
    float *values_gradient;      /* [B] */
} litmus_evaluator;

/* Predict the returns of all policies; return the weighted squared error, with its gradient in the
   probing states [K, D] and in the head's parameters, flat. returns, weights: [B]. */
float litmus_fit(const litmus_evaluator *evaluator, const float *returns, const float *weights,
                 float *states_gradient, float *head_gradient);

/* Predict the return of the first policy, which is the only one; with its gradient in the policy's
   parameters [P]. */
float litmus_climb(const litmus_evaluator *evaluator, float *params_gradient);

/* Adam's state: for each tensor its parameters, both moments and the number of steps, which is the
   same for all. */
typedef struct {
    int64_t tensors;
    const int64_t *sizes;
    float *const *params;
    float *const *means;
    float *const *squares;
    float *const *steps;
    double rate, mean_decay, square_decay, epsilon;
} litmus_adam;

/* One step down the gradient, which is flat, tensor after tensor; up if `ascend`. */
void litmus_adam_step(const litmus_adam *adam, const float *gradient, int ascend,
                      int64_t threads);

#endif
