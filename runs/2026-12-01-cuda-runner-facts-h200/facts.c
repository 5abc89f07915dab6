// Facts for a device runner: costs and what works under confinement. dlopen only.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <signal.h>
#include <sched.h>
#include <grp.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <sys/resource.h>
#include <sys/prctl.h>
typedef void *H; typedef unsigned long long A;
static void *lib; static double now(){struct timespec t;clock_gettime(CLOCK_MONOTONIC,&t);return t.tv_sec+1e-9*t.tv_nsec;}
#define F(name) ((int(*)())dlsym(lib,name))
static char *cubin; static int open_all(H *ctx,const char*tag){
 double a=now(); lib=dlopen("libcuda.so.1",RTLD_NOW); if(!lib) lib=dlopen("/usr/local/nvidia/lib64/libcuda.so.1",RTLD_NOW);
 if(!lib){printf("%s: dlopen %s\n",tag,dlerror());return 1;}
 double b=now(); int r=F("cuInit")(0); double c=now(); if(r){printf("%s: cuInit %d\n",tag,r);return r;}
 r=F("cuDevicePrimaryCtxRetain")(ctx,0); double d=now(); if(r){printf("%s: retain %d\n",tag,r);return r;}
 F("cuCtxSetCurrent")(*ctx); printf("%s: dlopen %.1f ms cuInit %.1f ms context %.1f ms\n",tag,1e3*(b-a),1e3*(c-b),1e3*(d-c)); return 0;}
static H fn(const char*name,H*m){H f=0;int r=F("cuModuleLoadData")(m,cubin);if(r)printf("load %d\n",r);r=F("cuModuleGetFunction")(&f,*m,name);if(r)printf("get %d\n",r);return f;}
static int sum(H s,H f,A p,int n){void*args[]={&p,&n};int r=((int(*)(H,unsigned,unsigned,unsigned,unsigned,unsigned,unsigned,unsigned,H,void**,void**))dlsym(lib,"cuLaunchKernel"))(f,132,1,1,256,1,1,0,s,args,0);if(r)return r;return F("cuStreamSynchronize")(s);}
static int work(const char*tag,int shared){H ctx,m,s=0; if(open_all(&ctx,tag))return 1; H f=fn("inc",&m); A p=0;size_t n=64u<<20;
 double t0=now();int r=((int(*)(A*,size_t))dlsym(lib,"cuMemAlloc_v2"))(&p,n); double t1=now(); int fd=memfd_create("x",0);ftruncate(fd,n);void*host=shared?mmap(0,n,3,MAP_SHARED|MAP_POPULATE,fd,0):mmap(0,n,3,MAP_PRIVATE|MAP_ANONYMOUS|MAP_POPULATE,-1,0);
 memset(host,1,n); int (*up)(A,void*,size_t)=dlsym(lib,"cuMemcpyHtoD_v2"); double t2=now();up(p,host,n);double t3=now();up(p,host,n);double t4=now();
 int reg=((int(*)(void*,size_t,unsigned))dlsym(lib,"cuMemHostRegister_v2"))(host,n,0);double t5=now();int c=up(p,host,n);double t6=now();
 printf("%s: alloc %d %.2f ms; up 64MiB %.2f, %.2f ms; register(shared=%d) %d in %.2f ms, up %d %.2f ms\n",tag,r,1e3*(t1-t0),1e3*(t3-t2),1e3*(t4-t3),shared,reg,1e3*(t5-t4),c,1e3*(t6-t5));
 sum(s,f,p,1<<20);double best=1e9;for(int i=0;i<200;i++){double x=now();r=sum(s,f,p,1);double y=now()-x;if(y<best)best=y;}
 int q=0;F("cuFuncGetAttribute")(&q,4,f); int loc=-1;F("cuFuncGetAttribute")(&loc,3,f);
 printf("%s: launch+sync best %.2f us rc %d regs %d local %d\n",tag,1e6*best,r,q,loc);fflush(stdout);return 0;}
static int child(const char*tag,int how){fflush(stdout);double a=now();int p=fork();if(!p){
 if(how&~7||how&1){if(unshare((how&8?CLONE_NEWNS:0)|(how&16?CLONE_NEWNET:0)|(how&32?CLONE_NEWIPC:0)|(how&64?CLONE_NEWUTS:0)|(how&128?CLONE_NEWPID:0)))perror("unshare");if(how&256){mount(0,"/",0,MS_REC|MS_PRIVATE,0);}int q=fork();if(!q&&(how&256)){if(mount("proc","/proc","proc",0,0))perror("proc");}if(q){int st;waitpid(q,&st,0);_exit(WIFEXITED(st)?WEXITSTATUS(st):99);}}
 if(how&2){setgroups(0,0);if(setresgid(65534,65534,65534)||setresuid(65534,65534,65534))perror("setuid");prctl(PR_SET_NO_NEW_PRIVS,1,0,0,0);}
 if(how&4){struct rlimit l={6ull<<30,6ull<<30};setrlimit(RLIMIT_AS,&l);}
 _exit(work(tag,1));}int st;waitpid(p,&st,0);printf("%s: status %d, whole process %.1f ms\n",tag,st,1e3*(now()-a));return st;}
static void nvrtc(const char*tag,unsigned long as){fflush(stdout);double a=now();int p=fork();if(!p){struct rlimit l={as,as};if(as)setrlimit(RLIMIT_AS,&l);struct rlimit fs={64<<20,64<<20};setrlimit(RLIMIT_FSIZE,&fs);lib=dlopen("libnvrtc.so.13",RTLD_NOW);if(!lib){printf("%s\n",dlerror());_exit(1);}H g;const char*src="extern \"C\" __global__ void k(float*x){x[threadIdx.x]=__expf(x[threadIdx.x]);}";F("nvrtcCreateProgram")(&g,src,"k.cu",0,0,0);const char*o[]={"--gpu-architecture=sm_90a"};int r=F("nvrtcCompileProgram")(g,1,o);size_t z=0;F("nvrtcGetCUBINSize")(g,&z);printf("%s: compile %d, cubin %zu bytes\n",tag,r,z);_exit(0);}int st;waitpid(p,&st,0);printf("%s: status %d, %.1f ms\n",tag,st,1e3*(now()-a));}
static void stop_test(void){fflush(stdout);int pp[2];pipe(pp);int p=fork();if(!p){H c,m;open_all(&c,"stop");H f=fn("inc",&m);A a;((int(*)(A*,size_t))dlsym(lib,"cuMemAlloc_v2"))(&a,1<<20);sum(0,f,a,1);write(pp[1],"x",1);for(;;)sum(0,f,a,1);}
 char b;read(pp[0],&b,1);double t=0;for(int i=0;i<200;i++){double x=now();int st;kill(p,SIGSTOP);waitpid(p,&st,WUNTRACED);t+=now()-x;kill(p,SIGCONT);usleep(300);}printf("SIGSTOP confirmed, mean %.1f us\n",1e6*t/200);double x=now();kill(p,SIGKILL);int st;waitpid(p,&st,0);printf("kill+reap of a context %.1f ms\n",1e3*(now()-x));}
static void hang_test(void){fflush(stdout);int pp[2];pipe(pp);int p=fork();if(!p){H c,m;open_all(&c,"hang");H f=fn("hang",&m);A a;((int(*)(A*,size_t))dlsym(lib,"cuMemAlloc_v2"))(&a,1<<20);write(pp[1],"x",1);sum(0,f,a,1);_exit(0);}
 char b;read(pp[0],&b,1);sleep(1);double x=now();kill(p,SIGKILL);int st;waitpid(p,&st,0);printf("hung kernel: kill+reap %.1f ms\n",1e3*(now()-x));child("after hang",0);}
int main(int n,char**v){setvbuf(stdout,0,_IOLBF,0);FILE*f=fopen(v[1],"rb");cubin=malloc(1<<20);fread(cubin,1,1<<20,f);
 child("plain",0);child("plain again",0);child("mnt",8);child("net",16);child("ipc",32);child("uts",64);child("pid, old /proc",128);child("pid+mnt, own /proc",128|8|256);child("all, own /proc",8|16|32|64|128|256);child("all, own /proc, nobody",2|8|16|32|64|128|256);child("nobody",2);nvrtc("nvrtc",0);nvrtc("nvrtc, 3 GiB of address space",3ul<<30);nvrtc("nvrtc, 1 GiB",1ul<<30);stop_test();hang_test();
 /* two contexts of two processes at once: launch cost while another, idle, lives */
 fflush(stdout);int pp[2];pipe(pp);int p=fork();if(!p){H c;open_all(&c,"idle");write(pp[1],"x",1);pause();}char b;read(pp[0],&b,1);child("beside an idle context",0);kill(p,SIGSTOP);child("beside a stopped context",0);kill(p,SIGKILL);return 0;}
