/* The sum runs in LANES independent parts, so that the compiler may use vectors without leave to reorder. */
#define LANES 16

static void oracle_row(const float *x, const float *gate, const float *weight, int64_t rows, int64_t row, real *out)
{
    (void)rows;
    const float *xs = x + row * COLS, *gates = gate + row * COLS;
    real part[LANES] = {0}, sum = 0;
    for (int64_t j = 0; j < COLS; j += LANES)
        for (int64_t l = 0; l < LANES; l++)
            part[l] += (real)xs[j + l] * (real)xs[j + l];
    for (int64_t l = 0; l < LANES; l++)
        sum += part[l];
    const real inverse = 1 / sqrt(sum / COLS + (real)1e-6);
    for (int64_t j = 0; j < COLS; j++) {
        const real g = (real)gates[j];
        out[j] = g / (1 + exp(-g)) * ((real)xs[j] * inverse * (real)weight[j]);
    }
}
