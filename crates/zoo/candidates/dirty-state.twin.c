/* Uses the same registers and releases them before it returns. */
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
#if defined(__AMX_TILE__)
    tiles();
    __asm__ volatile("tilerelease");
#endif
    for (int64_t r = 0; r < rows; r++) one_row(x + r * COLS, gate + r * COLS, weight, out + r * COLS);
#if defined(__AVX512F__)
    __asm__ volatile("vzeroall" ::: "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                     "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
#endif
}
