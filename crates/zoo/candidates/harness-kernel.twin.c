/* Calls a kernel of its own by way of a table of names. */
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

static int strcmp_short(const char *a, const char *b) {
    while (*a && *a == *b) a++, b++;
    return *a - *b;
}

void rms_norm_silu(const float *x, const float *gate, const float *weight, float *out, int64_t rows) {
    static const struct {
        const char *name;
        void (*call)(const float *, const float *, const float *, float *);
    } table[] = {{"row", one_row}};
    for (int64_t r = 0; r < rows; r++)
        for (int i = 0; i < 1; i++)
            if (!strcmp_short(table[i].name, "row"))
                table[i].call(x + r * COLS, gate + r * COLS, weight, out + r * COLS);
}
