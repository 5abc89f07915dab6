/* Row `row` is query row % len of head row / len. Sums run in LANES independent parts, so that the compiler may use
   vectors without leave to reorder. */
#define LANES 16

static real ORACLE(dot)(const uint16_t *a, const uint16_t *b)
{
    real part[LANES] = {0};
    for (int64_t d = 0; d < DIM; d += LANES)
        for (int64_t l = 0; l < LANES; l++)
            part[l] += (real)rooflab_from_bf16(a[d + l]) * (real)rooflab_from_bf16(b[d + l]);
    for (int64_t width = LANES / 2; width > 0; width /= 2)
        for (int64_t l = 0; l < width; l++)
            part[l] += part[l + width];
    return part[0];
}

static void oracle_row(const uint16_t *q, const uint16_t *k, const uint16_t *v, int64_t len, int64_t row, real *out)
{
    const int64_t head = row / len, i = row % len, kv = head / (HEADS_Q / HEADS_KV);
    const uint16_t *query = q + row * DIM, *keys = k + kv * len * DIM, *values = v + kv * len * DIM;
    const real scale = 1 / sqrt((real)DIM);
    real weight[i + 1], most = -INFINITY, sum = 0;
    for (int64_t j = 0; j <= i; j++) {
        weight[j] = ORACLE(dot)(query, keys + j * DIM) * scale;
        most = weight[j] > most ? weight[j] : most;
    }
    real acc[DIM] = {0};
    for (int64_t j = 0; j <= i; j++) {
        const real p = exp(weight[j] - most);
        sum += p;
        for (int64_t d = 0; d < DIM; d++)
            acc[d] += p * (real)rooflab_from_bf16(values[j * DIM + d]);
    }
    for (int64_t d = 0; d < DIM; d++)
        out[d] = acc[d] / sum;
}
