#include "mujoco.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

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

void litmus_clip(int64_t count, const float *x, const float *low, const float *high, float *out) {
    for (int64_t n = 0; n < count; n++) {
        float value = x[n] > low[n] || isnan(x[n]) ? x[n] : low[n];
        out[n] = value < high[n] || isnan(value) ? value : high[n];
    }
}

/* Of step t. */
static void choose_action(litmus_actor *actor, const litmus_exploration *exploration, int64_t t,
                          const double *observation, int64_t count, float *action) {
    const float *row = exploration ? exploration->rows + t * count : NULL;
    if (row && t < exploration->given) {
        memcpy(action, row, count * sizeof *action);
        return;
    }
    litmus_choose(actor, observation);
    memcpy(action, actor->outputs, count * sizeof *action);
    if (!row) return;
    for (int64_t n = 0; n < count; n++) action[n] += row[n];
    litmus_clip(count, action, exploration->low, exploration->high, action);
}

int64_t litmus_run_steps(const litmus_body *body, litmus_actor *actor,
                         const litmus_exploration *exploration) {
    double *observation = body->observations;
    bool stands = true;
    int64_t t = 0;
    write_row(&body->seen, observation);
    write_row(&body->recorded, body->records);
    while (stands && t < body->limit) {
        float *action = body->actions + t * body->num_controls;
        choose_action(actor, exploration, t, observation, body->num_controls, action);
        for (int64_t n = 0; n < body->num_controls; n++) body->control[n] = action[n];
        for (int64_t frame = 0; frame < body->frames; frame++) body->step(body->model, body->data);
        if (body->find_forces) body->find_forces(body->model, body->data);
        t++;
        observation += body->seen.size;
        write_row(&body->seen, observation);
        write_row(&body->recorded, body->records + t * body->recorded.size);
        stands = is_standing(body);
    }
    return stands ? t : -t;
}
