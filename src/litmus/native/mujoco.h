/* Episodes of MuJoCo bodies with nothing between two simulation steps but observing and acting.
   MuJoCo's own functions are called through pointers, so this needs no header of MuJoCo's. (An error
   inside them, such as an exhausted arena, ends the process with MuJoCo's message, where its Python
   binding would raise: these models have none.) */
#ifndef LITMUS_MUJOCO_H
#define LITMUS_MUJOCO_H

#include <stdint.h>

#include "acting.h"

enum { LITMUS_STRAIGHT = 0, LITMUS_SIN = 1, LITMUS_COS = 2 };

/* out = f(x), each [count]. */
void litmus_bend(int64_t bend, int64_t count, const double *x, double *out);

/* Consecutive numbers where MuJoCo keeps them. */
typedef struct {
    const double *values;  /* [count] */
    const double *minus;   /* [count] that are taken off them, or NULL */
    int64_t count;
    int64_t bend;
    double low, high;      /* that they are clipped to */
} litmus_part;

typedef struct {
    int64_t parts;
    const litmus_part *part;
    int64_t size;  /* of all of them */
} litmus_row;

typedef struct {
    void (*step)(const void *model, void *data);
    void (*find_forces)(const void *model, void *data); /* after a step, or NULL */
    const void *model;
    void *data;
    double *control;       /* [nu] */
    int64_t num_controls;  /* nu */
    int64_t frames;        /* simulation steps in one step of the environment */
    int64_t limit;         /* most steps of an episode */
    litmus_row seen;       /* an observation, of size D */
    litmus_row recorded;   /* what rewards are computed from, of size R */
    int64_t bounds;
    const litmus_part *bound;  /* an episode goes on while all of these are from low to high */
    double *observations;      /* [limit + 1, D]: before each step, and after the last */
    float *actions;            /* [limit, nu] */
    double *records;           /* [limit + 1, R] */
} litmus_body;

/* What is done instead of what the policy would do. */
typedef struct {
    int64_t given;           /* so many of the first rows are actions; the others are added to the */
    const float *rows;       /* policy's: [limit, nu] */
    const float *low, *high; /* [nu] that the sums are clipped to */
} litmus_exploration;

/* Run from the state that `data` is in; a stochastic policy must have its numbers drawn. `exploration`
   is NULL for the policy as it is. Returns the number of steps, negative if the last one left the
   bounds. */
int64_t litmus_run_steps(const litmus_body *body, litmus_actor *actor,
                         const litmus_exploration *exploration);

/* out = x, each [count], clipped as numpy's clip does it, zeros with a sign included. */
void litmus_clip(int64_t count, const float *x, const float *low, const float *high, float *out);

#endif
