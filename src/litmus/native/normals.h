/* The very numbers of numpy's `Generator(Philox(key)).standard_normal(dtype=float32)`, faster. */
#ifndef LITMUS_NORMALS_H
#define LITMUS_NORMALS_H

#include <stdint.h>

/* out = flat + noise * normal numbers, each [count]. */
void litmus_perturb(uint64_t key_low, uint64_t key_high, const float *flat, float noise,
                    int64_t count, float *out);

#endif
