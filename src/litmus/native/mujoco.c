#include "mujoco.h"

#include <math.h>
#include <stdbool.h>

/* NaN stays NaN, as numpy's clip leaves it. */
static double clip(double value, double low, double high) {
    value = value < low ? low : value;
    return value > high ? high : value;
}

void litmus_bend(int64_t bend, int64_t count, const double *x, double *out) {
    for (int64_t n = 0; n < count; n++)
        out[n] = bend == LITMUS_SIN ? sin(x[n]) : bend == LITMUS_COS ? cos(x[n]) : x[n];
}

static void write_row(const litmus_row *row, double *into) {
    for (int64_t number = 0; number < row->parts; number++) {
        const litmus_part *part = row->part + number;
        litmus_bend(part->bend, part->count, part->values, into);
        for (int64_t n = 0; n < part->count; n++, into++) {
            if (part->minus) *into -= part->minus[n];
            *into = clip(*into, part->low, part->high);
        }
    }
}

static bool is_standing(const litmus_body *body) {
    for (int64_t number = 0; number < body->bounds; number++) {
        const litmus_part *part = body->bound + number;
        for (int64_t n = 0; n < part->count; n++)
            if (!(part->low <= part->values[n] && part->values[n] <= part->high)) return false;
    }
    return true;
}

int64_t litmus_run_episode(const litmus_body *body, litmus_actor *actor) {
    write_row(&body->recorded, body->records);
    for (int64_t t = 0; t < body->limit; t++) {
        double *observation = body->observations + t * body->seen.size;
        write_row(&body->seen, observation);
        litmus_choose(actor, observation);
        float *action = body->actions + t * body->num_controls;
        for (int64_t n = 0; n < body->num_controls; n++)
            body->control[n] = action[n] = actor->outputs[n];
        for (int64_t frame = 0; frame < body->frames; frame++) body->step(body->model, body->data);
        if (body->find_forces) body->find_forces(body->model, body->data);
        write_row(&body->recorded, body->records + (t + 1) * body->recorded.size);
        if (!is_standing(body)) return -(t + 1);
    }
    return body->limit;
}
