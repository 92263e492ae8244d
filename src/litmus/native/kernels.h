/* What depends on the instruction set: inner loops over vectors. All sets give the same bits: a sum
   runs along one lane, and lanes do not meet. */
#ifndef LITMUS_KERNELS_H
#define LITMUS_KERNELS_H

#include <stdint.h>

enum { TILE_VECTORS = 3, MOST_LANES = 16 };

/* What becomes of a sum: kept; activated; times the slope of the activation that lies where it will
   be stored; added to what lies there. */
enum { PLAIN, HIDDEN, BACK, ADD, KINDS };

/* A matrix [rows, depth], in strides of a_row and a_depth, times 1 to 3 columns of vectors. */
typedef void (*product_function)(int64_t activation, const float *a, int64_t a_row,
                                 int64_t a_depth, int64_t rows, int64_t depth, const float *bias,
                                 const float *x, int64_t x_depth, float *out);

typedef struct {
    float sign;  /* of the gradient: -1 to go up */
    float rate;  /* over the first moment's bias */
    float mean_decay, square_decay;
    float square_scale;  /* undoes the second moment's bias, for its root */
    float epsilon;
} adam_rates;

/* In place and in whole vectors: up to 15 floats behind the last are overwritten. */
typedef struct {
    void (*activate_all)(int64_t activation, int64_t count, float *x);
    void (*exponentiate_all)(int64_t count, float *x); /* of numbers up to 88 */
} litmus_elementwise;

typedef struct {
    int64_t lanes;
    product_function product[KINDS][TILE_VECTORS];
    litmus_elementwise elementwise;
    void (*adam)(const adam_rates *rates, int64_t count, const float *gradient, float *params,
                 float *means, float *squares);
} litmus_kernels;

/* For a little arithmetic between other work: never AVX-512, after which a processor runs
   everything slower for a while. A few microseconds of it in each step of a simulation cost
   twenty. */
typedef struct {
    /* One layer of one network for one input. */
    void (*layer)(int64_t inputs, int64_t outputs, const float *weights, const float *bias,
                  const float *x, float *y);
    litmus_elementwise elementwise;
} litmus_light_kernels;

/* By litmus_choose_kernels: the widest, for long stretches of arithmetic; and the light ones. */
extern const litmus_kernels *litmus_chosen;
extern const litmus_light_kernels *litmus_light;

#endif
