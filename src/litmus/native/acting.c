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
static void draw_actions(litmus_actor *actor) {
    const float *normals = actor->drawn;
    int64_t actions = actor->squashing.size / 2;
    float *outputs = actor->outputs, *log_stds = outputs + actions;
    for (int64_t n = 0; n < actions; n++) {
        float spread = expf(log_stds[n]) * actor->half_range[n];
        float action = outputs[n] + spread * normals[n]; /* NaN stays NaN */
        outputs[n] = action > actor->high[n]  ? actor->high[n]
                     : action < actor->low[n] ? actor->low[n]
                                              : action;
    }
    actor->drawn = normals + actions;
}

/* The first choice at which the sum of probabilities reaches the drawn share of all of them. */
static int64_t draw_choice(litmus_actor *actor) {
    const double *share = actor->drawn;
    const float *chances = actor->outputs;
    int64_t last = actor->squashing.size - 1, choice = 0;
    double all = 0.0, sum = chances[0];
    for (int64_t n = 0; n <= last; n++) all += chances[n];
    while (choice < last && !(sum >= *share * all)) sum += chances[++choice];
    actor->drawn = share + 1;
    return choice;
}

int64_t litmus_choose(litmus_actor *actor, const double *observation) {
    if (actor->distribution != LITMUS_DETERMINISTIC && actor->steps_drawn-- <= 0) {
        actor->steps_drawn = 0;
        return -1;
    }
    int64_t size = actor->shape.widths[0];
    for (int64_t n = 0; n < size; n++)
        actor->inputs[n] = (float)((observation[n] - actor->mean[n]) * actor->inverse_std[n]);
    litmus_act(actor);
    if (actor->distribution == LITMUS_GAUSSIAN) draw_actions(actor);
    return actor->distribution == LITMUS_CATEGORICAL ? draw_choice(actor) : 0;
}
