#include "acting.h"

#include <math.h>
#include <stddef.h>

#include "kernels.h"

static int64_t widest(const litmus_shape *shape) {
    int64_t most = 0;
    for (int64_t layer = 0; layer <= shape->layers; layer++)
        if (shape->widths[layer] > most) most = shape->widths[layer];
    return (most + MOST_LANES - 1) / MOST_LANES * MOST_LANES;
}

int64_t litmus_scratch_size(const litmus_shape *shape) { return 2 * widest(shape); }

void litmus_act(const litmus_actor *actor) {
    const litmus_shape *shape = &actor->shape;
    float *halves[2] = {actor->scratch, actor->scratch + widest(shape)};
    const float *params = actor->params, *inputs = actor->inputs;
    for (int64_t layer = 0; layer < shape->layers; layer++) {
        int64_t in = shape->widths[layer], out = shape->widths[layer + 1];
        int is_last = layer + 1 == shape->layers;
        float *y = is_last ? actor->outputs : halves[layer % 2];
        litmus_light->layer(in, out, params, params + in * out, inputs, y);
        if (!is_last) litmus_light->elementwise.activate_all(shape->activation, out, y);
        params += out * (in + 1);
        inputs = y;
    }
    litmus_squash(&actor->squashing, &litmus_light->elementwise, 1, actor->outputs, NULL);
}

/* Means and log-stds become actions. */
static void draw_actions(const litmus_actor *actor, const float *normals) {
    int64_t actions = actor->squashing.size / 2;
    float *outputs = actor->outputs, *log_stds = outputs + actions;
    for (int64_t n = 0; n < actions; n++) {
        float spread = expf(log_stds[n]) * actor->half_range[n];
        float action = outputs[n] + spread * normals[n]; /* NaN stays NaN */
        outputs[n] = action > actor->high[n]  ? actor->high[n]
                     : action < actor->low[n] ? actor->low[n]
                                              : action;
    }
}

/* The first choice at which the sum of probabilities reaches the drawn share of all of them. */
static int64_t draw_choice(int64_t count, const float *chances, double share) {
    double all = 0.0, sum = 0.0;
    for (int64_t n = 0; n < count; n++) all += chances[n];
    for (int64_t n = 0; n < count - 1; n++)
        if ((sum += chances[n]) >= share * all) return n;
    return count - 1;
}

int64_t litmus_choose(const litmus_actor *actor, const double *observation, const void *drawn) {
    int64_t size = actor->shape.widths[0];
    for (int64_t n = 0; n < size; n++)
        actor->inputs[n] = (float)((observation[n] - actor->mean[n]) * actor->inverse_std[n]);
    litmus_act(actor);
    if (actor->distribution == LITMUS_GAUSSIAN) draw_actions(actor, drawn);
    if (actor->distribution != LITMUS_CATEGORICAL) return 0;
    return draw_choice(actor->squashing.size, actor->outputs, *(const double *)drawn);
}
