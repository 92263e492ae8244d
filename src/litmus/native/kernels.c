#include "kernels.h"

#include <math.h>
#include <stddef.h>

#include "perceptron.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,avx2,fma")))
#define NAME(x) x##_avx512
#define LANES 16
#define TILE_ROWS 8
#define vec __m512
#define BROADCAST(x) _mm512_set1_ps(x)
#define FUSED(a, b, c) _mm512_fmadd_ps(a, b, c)
#define LEAST(a, b) _mm512_min_ps(a, b)
#define GREATEST(a, b) _mm512_max_ps(a, b)
#define WHERE_POSITIVE(x, y) \
    _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_NLE_UQ), y)
#define ROOT(x) _mm512_sqrt_ps(x)
#define ROUND(x) _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define POWER_OF_TWO(x)                \
    _mm512_castsi512_ps(_mm512_slli_epi32( \
        _mm512_add_epi32(_mm512_cvtps_epi32(x), _mm512_set1_epi32(127)), 23))
#include "kernels_template.h"
#undef TARGET
#undef NAME
#undef LANES
#undef TILE_ROWS
#undef vec
#undef BROADCAST
#undef FUSED
#undef LEAST
#undef GREATEST
#undef WHERE_POSITIVE
#undef ROOT
#undef ROUND
#undef POWER_OF_TWO

#define TARGET __attribute__((target("avx2,fma")))
#define NAME(x) x##_avx2
#define LANES 8
#define TILE_ROWS 4
#define vec __m256
#define BROADCAST(x) _mm256_set1_ps(x)
#define FUSED(a, b, c) _mm256_fmadd_ps(a, b, c)
#define LEAST(a, b) _mm256_min_ps(a, b)
#define GREATEST(a, b) _mm256_max_ps(a, b)
#define WHERE_POSITIVE(x, y) \
    _mm256_and_ps(_mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_NLE_UQ), y)
#define ROOT(x) _mm256_sqrt_ps(x)
#define ROUND(x) _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define POWER_OF_TWO(x)                \
    _mm256_castsi256_ps(_mm256_slli_epi32( \
        _mm256_add_epi32(_mm256_cvtps_epi32(x), _mm256_set1_epi32(127)), 23))
#include "kernels_template.h"

/* ---- one layer for one input, in AVX2 alone ---- */

enum { LAYER_ROWS = 8 };

#define INLINE static inline __attribute__((always_inline)) TARGET

INLINE float sum_lanes(__m256 x) {
    __m128 half = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    __m128 pair = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(pair, _mm_movehdup_ps(pair)));
}

/* The sum over the lanes of each of eight vectors. */
INLINE __m256 sum_lanes_of_eight(const __m256 x[LAYER_ROWS]) {
    __m256 first = _mm256_hadd_ps(_mm256_hadd_ps(x[0], x[1]), _mm256_hadd_ps(x[2], x[3]));
    __m256 last = _mm256_hadd_ps(_mm256_hadd_ps(x[4], x[5]), _mm256_hadd_ps(x[6], x[7]));
    return _mm256_add_ps(_mm256_permute2f128_ps(first, last, 0x20),
                         _mm256_permute2f128_ps(first, last, 0x31));
}

/* All bits of the first `count` lanes. */
INLINE __m256i mask_lanes(int64_t count) {
    __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), lane);
}

/* Products of `count` rows of weights with x, before the lanes are summed up. */
INLINE void multiply_rows(const int count, int64_t inputs, const float *weights, const float *x,
                          __m256 sum[LAYER_ROWS]) {
    int64_t whole = inputs - inputs % LANES;
    for (int r = 0; r < count; r++) sum[r] = _mm256_setzero_ps();
    for (int64_t i = 0; i < whole; i += LANES) {
        __m256 values = _mm256_loadu_ps(x + i);
        for (int r = 0; r < count; r++)
            sum[r] = _mm256_fmadd_ps(_mm256_loadu_ps(weights + r * inputs + i), values, sum[r]);
    }
    if (whole == inputs) return;
    __m256i mask = mask_lanes(inputs - whole);
    __m256 values = _mm256_maskload_ps(x + whole, mask);
    for (int r = 0; r < count; r++) {
        __m256 rest = _mm256_maskload_ps(weights + r * inputs + whole, mask);
        sum[r] = _mm256_fmadd_ps(rest, values, sum[r]);
    }
}

static TARGET void layer(int64_t inputs, int64_t outputs, const float *weights, const float *bias,
                         const float *x, float *y) {
    __m256 sum[LAYER_ROWS];
    int64_t row = 0;
    for (; row + LAYER_ROWS <= outputs; row += LAYER_ROWS) {
        multiply_rows(LAYER_ROWS, inputs, weights + row * inputs, x, sum);
        __m256 sums = sum_lanes_of_eight(sum);
        _mm256_storeu_ps(y + row, _mm256_add_ps(sums, _mm256_loadu_ps(bias + row)));
    }
    for (; row < outputs; row++) {
        multiply_rows(1, inputs, weights + row * inputs, x, sum);
        y[row] = sum_lanes(sum[0]) + bias[row];
    }
}

static const litmus_light_kernels light = {
    .layer = layer,
    .elementwise = {activate_all_avx2, exponentiate_all_avx2},
};

static const litmus_light_kernels *find_light(void) { return &light; }

static const litmus_kernels *find_kernels(int64_t lanes) {
    if (lanes >= 16 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))
        return &kernels_avx512;
    if (lanes >= 8 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &kernels_avx2;
    return NULL;
}
#else
static const litmus_kernels *find_kernels(int64_t lanes) {
    (void)lanes;
    return NULL;
}

static const litmus_light_kernels *find_light(void) { return NULL; }
#endif

const litmus_kernels *litmus_chosen = NULL;
const litmus_light_kernels *litmus_light = NULL;

int64_t litmus_interface(void) { return LITMUS_INTERFACE; }

int64_t litmus_choose_kernels(int64_t lanes) {
    litmus_chosen = find_kernels(lanes);
    litmus_light = litmus_chosen ? find_light() : NULL;
    return litmus_chosen ? litmus_chosen->lanes : 0;
}
