#include "evaluator.h"

#include <math.h>
#include <stddef.h>

#include "kernels.h"
#include "threads.h"

static void judge(const litmus_evaluator *evaluator) {
    const litmus_population *policies = &evaluator->policies;
    litmus_forward(policies, evaluator->answers);
    litmus_squash(&evaluator->squashing, &litmus_chosen->elementwise,
                  policies->policies * policies->states, evaluator->answers, evaluator->slopes);
    litmus_forward(&evaluator->head, evaluator->values);
}

/* From `values_gradient` to that of the raw outputs, which takes the place of the answers. */
static void go_back_to_outputs(const litmus_evaluator *evaluator, float *head_gradient) {
    const litmus_population *policies = &evaluator->policies;
    litmus_backward(&evaluator->head, evaluator->values_gradient, evaluator->answers,
                    head_gradient);
    litmus_unsquash(&evaluator->squashing, policies->policies * policies->states,
                    evaluator->slopes, evaluator->answers);
}

float litmus_fit(const litmus_evaluator *evaluator, const float *returns, const float *weights,
                 float *states_gradient, float *head_gradient) {
    judge(evaluator);
    float loss = 0.0f;
    for (int64_t n = 0; n < evaluator->policies.policies; n++) {
        float error = evaluator->values[n] - returns[n];
        loss += weights[n] * error * error;
        evaluator->values_gradient[n] = 2.0f * weights[n] * error;
    }
    go_back_to_outputs(evaluator, head_gradient);
    litmus_backward(&evaluator->policies, evaluator->answers, states_gradient, NULL);
    return loss;
}

float litmus_climb(const litmus_evaluator *evaluator, float *params_gradient) {
    judge(evaluator);
    evaluator->values_gradient[0] = 1.0f;
    go_back_to_outputs(evaluator, NULL);
    litmus_backward(&evaluator->policies, evaluator->answers, NULL, params_gradient);
    return evaluator->values[0];
}

enum { CHUNK = 16384 };

typedef struct {
    const litmus_adam *adam;
    const float *gradient;
    adam_rates rates;
} adam_job;

/* A chunk of one of the tensors. */
static void adam_item(void *context, int64_t item) {
    const adam_job *work = context;
    const litmus_adam *adam = work->adam;
    const float *gradient = work->gradient;
    int64_t tensor = 0;
    for (int64_t chunks; item >= (chunks = (adam->sizes[tensor] + CHUNK - 1) / CHUNK); tensor++) {
        item -= chunks;
        gradient += adam->sizes[tensor];
    }
    int64_t from = item * CHUNK, count = adam->sizes[tensor] - from;
    if (count > CHUNK) count = CHUNK;
    litmus_chosen->adam(&work->rates, count, gradient + from, adam->params[tensor] + from,
                        adam->means[tensor] + from, adam->squares[tensor] + from);
}

void litmus_adam_step(const litmus_adam *adam, const float *gradient, int ascend,
                      int64_t threads) {
    int64_t chunks = 0;
    for (int64_t tensor = 0; tensor < adam->tensors; tensor++) {
        *adam->steps[tensor] += 1.0f;
        chunks += (adam->sizes[tensor] + CHUNK - 1) / CHUNK;
    }
    double step = (double)*adam->steps[0];
    adam_job work = {adam, gradient, .rates = {
        .sign = ascend ? -1.0f : 1.0f,
        .rate = (float)(adam->rate / (1.0 - pow(adam->mean_decay, step))),
        .mean_decay = (float)adam->mean_decay,
        .square_decay = (float)adam->square_decay,
        .square_scale = (float)(1.0 / sqrt(1.0 - pow(adam->square_decay, step))),
        .epsilon = (float)adam->epsilon,
    }};
    litmus_share((int)threads, chunks, 1, adam_item, &work);
}
