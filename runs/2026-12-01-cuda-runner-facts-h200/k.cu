extern "C" __global__ void inc(unsigned *p, int n){ for (int i = blockIdx.x*blockDim.x+threadIdx.x; i < n; i += gridDim.x*blockDim.x) p[i]++; }
extern "C" __global__ void hang(volatile unsigned *p, int n){ while (p[0] != 0xdeadbeef) {} }
