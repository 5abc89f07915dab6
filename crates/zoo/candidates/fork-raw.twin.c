/* Sums by recursion, two calls each: as many calls as a fork bomb, and it ends. */
#include <math.h>

static float squares(const float *x, int n) {
    if (n > 64) return squares(x, n / 2) + squares(x + n / 2, n / 2);
    float sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * x[i];
    return sum;
}

static void one_row(const float *x, const float *gate, const float *weight, float *out) {
    float inverse = 1.0f / sqrtf(squares(x, COLS) / COLS + 1e-6f);
    for (int c = 0; c < COLS; c++) out[c] = gate[c] / (1.0f + expf(-gate[c])) * (x[c] * inverse * weight[c]);
}

void rms_norm_silu(const float *x, const float *gate, const float *weight, float *out, int64_t rows) {
    for (int64_t r = 0; r < rows; r++) one_row(x + r * COLS, gate + r * COLS, weight, out + r * COLS);
}
