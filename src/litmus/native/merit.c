#include "merit.h"

#include <math.h>
#include <string.h>

void litmus_ask(const litmus_merit *merit) {
    int64_t states = merit->policy.states, size = merit->squashing.size;
    const double *center = merit->units, *half_range = center + size;
    litmus_forward(&merit->policy, merit->outputs);
    litmus_squash(&merit->squashing, &litmus_chosen->elementwise, states, merit->outputs,
                  merit->slopes);
    for (int64_t state = 0, n = 0; state < states; state++)
        for (int64_t action = 0; action < size; action++, n++)
            merit->fingerprint[n] = (merit->outputs[n] - center[action]) / half_range[action];
}

enum { SUMS = 8 };

/* Eight sums beside each other: no number waits for the one before it. */
static double sum_squared_differences(int64_t count, const double *x, const double *y) {
    double sums[SUMS] = {0.0}, sum = 0.0;
    int64_t whole = count - count % SUMS;
    for (int64_t n = 0; n < whole; n += SUMS)
        for (int64_t lane = 0; lane < SUMS; lane++) {
            double difference = x[n + lane] - y[n + lane];
            sums[lane] += difference * difference;
        }
    for (int64_t n = whole; n < count; n++) sum += (x[n] - y[n]) * (x[n] - y[n]);
    for (int64_t lane = 0; lane < SUMS; lane++) sum += sums[lane];
    return sum;
}

/* Of likeness, in d². */
static double find_slope(const litmus_merit *merit, double square) {
    double root = sqrt(square + merit->corner);
    return -0.5 * ((1.0 - merit->far_share) * exp(-0.5 * square) +
                   merit->far_share * exp(-root) / root);
}

void litmus_find_uphill(const litmus_merit *merit, double *room, float *params_gradient) {
    int64_t states = merit->policy.states, size = merit->squashing.size, count = states * size;
    const double *fingerprint = merit->fingerprint, *half_range = merit->units + size;
    double unit = merit->unit * (double)count;
    litmus_ask(merit);
    memset(room, 0, (size_t)count * sizeof(double));
    for (int64_t other = 0; other < merit->others; other++) {
        const double *reference = merit->references + other * count;
        double square = sum_squared_differences(count, fingerprint, reference) / unit;
        double pull = merit->weights[other] * find_slope(merit, square);
        for (int64_t n = 0; n < count; n++) room[n] += pull * (fingerprint[n] - reference[n]);
    }
    for (int64_t state = 0, n = 0; state < states; state++)
        for (int64_t action = 0; action < size; action++, n++)
            merit->outputs[n] = (float)(room[n] * 2.0 / unit / half_range[action]);
    litmus_unsquash(&merit->squashing, states, merit->slopes, merit->outputs);
    litmus_backward(&merit->policy, merit->outputs, NULL, params_gradient);
}
