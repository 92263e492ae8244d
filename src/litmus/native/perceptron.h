/* Perceptron policies: many at once in many states, with gradients.

   Flat parameters are, layer by layer, weight [out, in] then bias [out]; a network whose layers lie
   elsewhere says where.

   States lie side by side in vectors: what a layer does to 16 states (8 without AVX-512) is one
   vector operation for each weight. A panel is a few such vectors of states, [feature][state]. It
   passes through all layers while it is warm in the cache and needs nothing of any other panel, so
   (policy, panel) is the item of work that threads share, and every sum has one order whatever the
   number of threads. */
#ifndef LITMUS_PERCEPTRON_H
#define LITMUS_PERCEPTRON_H

#include <stdint.h>

/* To be raised with every change that a caller notices: an older library is not used. */
enum { LITMUS_INTERFACE = 5 };

int64_t litmus_interface(void);

enum { LITMUS_TANH = 0, LITMUS_RELU = 1 };

typedef struct {
    int64_t layers;         /* L, linear ones */
    const int64_t *widths;  /* [L + 1]: D, hidden ones, A */
    int64_t activation;     /* of hidden layers */
} litmus_shape;

/* B policies in K states. */
typedef struct {
    litmus_shape shape;
    int64_t policies;            /* B */
    int64_t states;              /* K */
    const float *const *params;  /* [B] where each policy's parameters begin */
    const int64_t *places;       /* [2 L] from there, in floats: weights and bias of each layer */
    const float *inputs;         /* [K, D] */
    float *memory;               /* litmus_memory_size() floats, aligned to 64 bytes */
    int64_t threads;
} litmus_population;

/* Choose the widest kernels that this processor can run, of at most `lanes` floats a vector (16:
   AVX-512, 8: AVX2). Returns their lanes, or 0 where there are none: then nothing else here may be
   called. */
int64_t litmus_choose_kernels(int64_t lanes);

/* Floats that `memory` must hold; more of them if gradients of parameters will be asked for. */
int64_t litmus_memory_size(const litmus_population *population, int with_params_gradient);

/* Fill outputs [B, K, A]; the hidden layers stay in `memory`. */
void litmus_forward(const litmus_population *population, float *outputs);

/* From the gradient of the outputs [B, K, A]: that of the inputs [K, D], summed over policies, and
   that of the parameters [B, P], flat; either may be NULL. inputs_gradient may lie where the inputs
   do. It uses up the hidden layers that litmus_forward left. */
void litmus_backward(const litmus_population *population, const float *outputs_gradient,
                     float *inputs_gradient, float *params_gradient);

#endif
