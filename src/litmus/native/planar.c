#include "planar.h"

#include <stdbool.h>

static bool is_within(double value, const double range[2]) {
    return range[0] < value && value < range[1];
}

static bool is_healthy(const litmus_body *body) {
    const litmus_health *health = &body->health;
    if (!health->checks_posture) return true;
    if (!is_within(body->positions[1], health->z)) return false;
    if (!is_within(body->positions[2], health->angle)) return false;
    if (!health->checks_state) return true;
    for (int64_t n = 2; n < body->num_positions; n++)
        if (!is_within(body->positions[n], health->state)) return false;
    for (int64_t n = 0; n < body->num_velocities; n++)
        if (!is_within(body->velocities[n], health->state)) return false;
    return true;
}

/* NaN stays NaN, as numpy's clip leaves it. */
static double clip(double value, double bound) {
    return value > bound ? bound : value < -bound ? -bound : value;
}

static void observe(const litmus_body *body, double *observation) {
    for (int64_t n = body->skipped; n < body->num_positions; n++)
        *observation++ = body->positions[n];
    for (int64_t n = 0; n < body->num_velocities; n++)
        *observation++ = clip(body->velocities[n], body->velocity_bound);
}

int64_t litmus_run_episode(const litmus_body *body, const litmus_actor *actor, const double *mean,
                           const double *inverse_std) {
    int64_t size = body->num_positions - body->skipped + body->num_velocities;
    body->x[0] = body->positions[0];
    for (int64_t t = 0; t < body->limit; t++) {
        double *observation = body->observations + t * size;
        observe(body, observation);
        for (int64_t n = 0; n < size; n++)
            body->normalized[n] = (float)((observation[n] - mean[n]) * inverse_std[n]);
        litmus_act(actor, body->normalized);
        float *action = body->actions + t * body->num_controls;
        for (int64_t n = 0; n < body->num_controls; n++)
            body->control[n] = action[n] = actor->outputs[n];
        for (int64_t frame = 0; frame < body->frames; frame++) body->step(body->model, body->data);
        body->x[t + 1] = body->positions[0];
        if (!is_healthy(body)) return -(t + 1);
    }
    return body->limit;
}
