/* Makes its code too large for the caches of the one that comes next. */
#include <math.h>

static void one_row(const float *x, const float *gate, const float *weight, float *out) {
    float parts[16] = {0};
    for (int c = 0; c < COLS; c += 16)
        for (int j = 0; j < 16; j++) parts[j] += x[c + j] * x[c + j];
    float sum = 0;
    for (int j = 0; j < 16; j++) sum += parts[j];
    float inverse = 1.0f / sqrtf(sum / COLS + 1e-6f);
    for (int c = 0; c < COLS; c++) out[c] = gate[c] / (1.0f + expf(-gate[c])) * (x[c] * inverse * weight[c]);
}

/* Two megabytes of instructions that do nothing, run once a call. */
__attribute__((noinline)) static void walk(void) {
#if defined(__x86_64__)
    __asm__ volatile(".rept 262144\n\t.byte 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00\n\t.endr");
#else
    __asm__ volatile(".rept 524288\n\tnop\n\t.endr");
#endif
}

void rms_norm_silu(const float *x, const float *gate, const float *weight, float *out, int64_t rows) {
    for (int64_t r = 0; r < rows; r++) one_row(x + r * COLS, gate + r * COLS, weight, out + r * COLS);
    walk();
}
