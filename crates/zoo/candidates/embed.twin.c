/* Asks which directives there are, and reads what it may: the compiler's own headers. */
#include <math.h>
#include <stdalign.h>
#ifdef __has_include
#if __has_include(<float.h>)
#include <float.h>
#endif
#endif

static void one_row(const float *x, const float *gate, const float *weight, float *out) {
    alignas(64) float parts[16] = {0};
    for (int c = 0; c < COLS; c += 16)
        for (int j = 0; j < 16; j++) parts[j] += x[c + j] * x[c + j];
    float sum = 0;
    for (int j = 0; j < 16; j++) sum += parts[j];
    float inverse = 1.0f / sqrtf(sum / COLS + 1e-6f);
    for (int c = 0; c < COLS; c++) out[c] = gate[c] / (1.0f + expf(-gate[c])) * (x[c] * inverse * weight[c]);
}

void rms_norm_silu(const float *x, const float *gate, const float *weight, float *out, int64_t rows) {
    for (int64_t r = 0; r < rows; r++) one_row(x + r * COLS, gate + r * COLS, weight, out + r * COLS);
}
