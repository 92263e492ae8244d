/* Episodes of the planar MuJoCo tasks (Swimmer, Hopper, Walker2d, HalfCheetah) with nothing between
   two simulation steps but observing and acting. MuJoCo's own mj_step is called through a pointer,
   so this needs no header of MuJoCo's. (An error inside it, such as an exhausted arena, ends the
   process with MuJoCo's message, where its Python binding would raise: these models have none.) */
#ifndef LITMUS_PLANAR_H
#define LITMUS_PLANAR_H

#include <stdint.h>

#include "perceptron.h"

/* Of positions and velocities: what is still an upright body. */
typedef struct {
    int64_t checks_posture;  /* height, position 1, and angle, position 2 */
    int64_t checks_state;    /* all positions from 2 on, and all velocities */
    double z[2], angle[2], state[2];
} litmus_health;

typedef struct {
    void (*step)(const void *model, void *data);
    const void *model;
    void *data;
    const double *positions;   /* [nq] */
    const double *velocities;  /* [nv] */
    double *control;           /* [nu] */
    int64_t num_positions, num_velocities, num_controls;
    int64_t frames;   /* simulation steps in one step of the environment */
    int64_t limit;    /* most steps of an episode */
    int64_t skipped;  /* leading positions that are not observed */
    double velocity_bound;  /* observed velocities are clipped to it */
    litmus_health health;
    double *observations;  /* [limit, D] */
    float *actions;        /* [limit, nu] */
    double *x;             /* [limit + 1], position 0 */
    float *normalized;     /* [D] */
} litmus_body;

/* Run from the state that `data` is in; mean and inverse_std [D] normalise observations. Returns
   the number of steps, negative if the last one was a fall. */
int64_t litmus_run_episode(const litmus_body *body, const litmus_actor *actor, const double *mean,
                           const double *inverse_std);

#endif
