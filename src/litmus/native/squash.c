#include "squash.h"

#include <math.h>
#include <string.h>

#include "perceptron.h"

/* NaN if there is one. */
static float find_largest(int64_t count, const float *x) {
    float largest = x[0];
    for (int64_t n = 1; n < count; n++)
        if (x[n] > largest || x[n] != x[n]) largest = x[n];
    return largest;
}

static void apply_softmax(const litmus_elementwise *by, int64_t rows, int64_t size, float *values) {
    for (int64_t row = 0; row < rows; row++) {
        float *x = values + row * size, largest = find_largest(size, x);
        for (int64_t n = 0; n < size; n++) x[n] -= largest;
    }
    by->exponentiate_all(rows * size, values);
    for (int64_t row = 0; row < rows; row++) {
        float *x = values + row * size, sum = 0.0f;
        for (int64_t n = 0; n < size; n++) sum += x[n];
        for (int64_t n = 0; n < size; n++) x[n] /= sum;
    }
}

static float softplus(float x) { return log1pf(expf(-fabsf(x))) + (x > 0.0f ? x : 0.0f); }

/* f(x) and its slope. */
static float bend(int64_t kind, float x, float *slope) {
    if (kind == LITMUS_BETWEEN) {
        float bent = tanhf(x);
        *slope = 1.0f - bent * bent;
        return bent;
    }
    if (kind == LITMUS_UNBOUNDED) {
        *slope = 1.0f;
        return x;
    }
    float side = (float)kind;
    *slope = 1.0f / (1.0f + expf(-side * x));
    return side * softplus(side * x);
}

void litmus_squash(const litmus_squashing *squashing, const litmus_elementwise *by, int64_t rows,
                   float *values, float *slopes) {
    int64_t size = squashing->size;
    if (squashing->is_softmax) {
        apply_softmax(by, rows, size, values);
        if (slopes) memcpy(slopes, values, (size_t)(rows * size) * sizeof(float));
        return;
    }
    if (squashing->all_between) by->activate_all(LITMUS_TANH, rows * size, values);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t n = 0; n < size; n++) {
            float *value = values + row * size + n, scale = squashing->scale[n], slope;
            if (squashing->all_between) slope = 1.0f - *value * *value;
            else *value = bend(squashing->kinds[n], *value, &slope);
            if (slopes) slopes[row * size + n] = scale * slope;
            *value = *value * scale + squashing->center[n];
        }
}

void litmus_unsquash(const litmus_squashing *squashing, int64_t rows, const float *slopes,
                     float *gradient) {
    int64_t size = squashing->size;
    if (!squashing->is_softmax) {
        for (int64_t n = 0; n < rows * size; n++) gradient[n] *= slopes[n];
        return;
    }
    for (int64_t row = 0; row < rows; row++) {
        const float *chances = slopes + row * size;
        float *into = gradient + row * size, mean = 0.0f;
        for (int64_t n = 0; n < size; n++) mean += into[n] * chances[n];
        for (int64_t n = 0; n < size; n++) into[n] = chances[n] * (into[n] - mean);
    }
}
