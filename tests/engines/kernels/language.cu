typedef unsigned u32; typedef unsigned long long u64; typedef long long s64;
#define T threadIdx.x
template<class A> __device__ A* at(void* p){ return (A*)((char*)p + T*256); }
struct Shape{ __device__ virtual int area(int k)=0; int a,b; };
struct Sq:Shape{ __device__ int area(int k) override{ return a*a+k; } };
struct Re:Shape{ __device__ int area(int k) override{ int s=0; for(int j=0;j<(b&15);j++) s+=a^j*k; return s; } };
extern "C" __global__ void virt(void* o, void* i){ int* x=at<int>(i); int* y=at<int>(o); Sq s; Re r; s.a=x[0]; s.b=x[1]; r.a=x[2]; r.b=x[3]; Shape* p=(x[4]&1)?(Shape*)&s:(Shape*)&r; y[0]=p->area(x[5]); }
__device__ __noinline__ int fib(int n){ return n<2?n:fib(n-1)+fib(n-2); }
extern "C" __global__ void rec(void* o, void* i){ u32* x=at<u32>(i); int* y=at<int>(o); y[0]=fib(x[0]%12); }
__device__ __noinline__ int f0(int a){return a*3;} __device__ __noinline__ int f1(int a){return a^0x55;} __device__ __noinline__ int f2(int a){return a/3;} __device__ __noinline__ int f3(int a){ int s=0; for(int i=0;i<(a&7);i++) s+=i*a; return s;}
__device__ int (*tab[4])(int)={f0,f1,f2,f3};
extern "C" __global__ void fptr(void* o, void* i){ u32* x=at<u32>(i); int* y=at<int>(o); y[0]=tab[x[0]&3](x[1]); }
extern "C" __global__ void sw(void* o, void* i){ u32* x=at<u32>(i); int* y=at<int>(o); int r=0; for(int k=0;k<8;k++){ switch(x[k]%13){ case 0:r+=3;break; case 1:r^=k; case 2:r*=5;break; case 5:r-=x[k];break; case 7:{ for(u32 q=0;q<x[k]%5;q++) r+=q*r; break;} case 9: r=~r; break; case 11: r=r>>3; break; case 12: continue; default: r+=1; } r++; } y[0]=r; }
extern "C" __global__ void sortk(void* o, void* i){ int* x=at<int>(i); int* y=at<int>(o); int a[16]; for(int k=0;k<16;k++) a[k]=x[k]; for(int p=0;p<16;p++) for(int k=0;k+1<16-p;k++) if(a[k]>a[k+1]){int t=a[k];a[k]=a[k+1];a[k+1]=t;} for(int k=0;k<16;k++) y[k]=a[k]; }
extern "C" __global__ void idx(void* o, void* i){ u32* x=at<u32>(i); u32* y=at<u32>(o); u32 a[20]; for(int k=0;k<20;k++) a[k]=x[k]; for(int k=0;k<20;k++) a[a[k]%20]+=k*a[(k*7)%20]; for(int k=0;k<20;k++) y[k]=a[k]; }
extern "C" __global__ void shared_(void* o, void* i){ __shared__ u32 s[64]; __shared__ double d[64]; u32* x=at<u32>(i); s[T]=x[0]; d[T]=x[1]*0.5; __syncthreads(); for(int st=32;st;st>>=1){ if(T<st){ s[T]+=s[T+st]; d[T]=fmax(d[T],d[T+st]); } __syncthreads(); } u32*y=at<u32>(o); y[0]=s[0]; y[1]=(u32)d[0]; y[2]=s[T]; }
extern "C" __global__ void warp_(void* o, void* i){ u32* x=at<u32>(i); u32* y=at<u32>(o); u32 v=x[0]; for(int d=1;d<32;d*=2){ u32 n=__shfl_up_sync(~0u,v,d); if((T&31)>=d) v+=n; } y[0]=v; y[1]=__ballot_sync(~0u,x[1]&1); y[2]=__match_any_sync(~0u,x[2]&3); int pr; y[3]=__match_all_sync(~0u,x[3]&1,&pr); y[4]=pr; y[5]=__reduce_add_sync(~0u,x[4]); y[6]=__reduce_max_sync(~0u,(int)x[5]); y[7]=__shfl_xor_sync(~0u,x[6],5,16); if(x[7]&1){ u32 m=__activemask(); y[8]=__reduce_xor_sync(m,x[8]); y[9]=__shfl_sync(m,x[9],__ffs(m)-1);} u64 q=((u64*)x)[5]; y[10]=__shfl_down_sync(~0u,q,3)>>7; y[11]=__any_sync(~0u,x[11]==0)+2*__all_sync(~0u,x[12]!=0); }
extern "C" __global__ void atom_(void* o, void* i){ u32* x=at<u32>(i); u32* y=at<u32>(o); u32* g=(u32*)o+40; __shared__ u32 h[16]; __shared__ u64 hh; if(T<16) h[T]=0; if(T==0) hh=0; __syncthreads(); atomicAdd(&h[x[0]&15],1); atomicMax(&h[3],x[1]); atomicXor(&hh,(u64)x[2]*x[3]); atomicAnd(g,x[4]); atomicAdd(g+1,x[5]); atomicMin((int*)g+2,(int)x[6]); atomicInc(g+3,100); __syncthreads(); y[0]=h[T&15]; y[1]=hh; y[2]=atomicCAS(y+20,x[7],x[8]); y[3]=atomicExch(y+21,x[9]); }
struct V{float x,y,z;}; __device__ V operator+(V a,V b){return {a.x+b.x,a.y+b.y,a.z+b.z};} 
extern "C" __global__ void structs(void* o, void* i){ V* x=at<V>(i); V* y=at<V>(o); V a=x[0]; for(int k=1;k<5;k++) a=a+x[k]; y[0]=a; float4 f=*(float4*)(at<char>(i)+64); *(float4*)(at<char>(o)+64)=make_float4(f.w,f.z,f.y,f.x); }
extern "C" __global__ void loops(void* o, void* i){ u32* x=at<u32>(i); u32* y=at<u32>(o); u32 n=x[0]&63, s=0; for(u32 a=0;a<n;a++){ if((x[1]>>(a&31))&1) continue; for(u32 b=a;b<n;b+=3){ if(b*a==x[2]%77) goto done; s+=a*b; if(s&0x1000) break; } } done: y[0]=s; u32 c=x[3]|1,st=0; while(c!=1&&st<200){ c=(c&1)?3*c+1:c/2; st++; } y[1]=st; do{ s=s*1664525+1013904223; }while((s>>28)>3); y[2]=s; }
__constant__ int ctab[16]={1,2,3,5,7,11,13,17,19,23,29,31,37,41,43,47};
extern "C" __global__ void consts(void* o, void* i){ u32* x=at<u32>(i); u32* y=at<u32>(o); y[0]=ctab[x[0]&15]*ctab[T&15]+ctab[3]; }
extern "C" __global__ void bytes_(void* o, void* i){ unsigned char* x=at<unsigned char>(i); signed char* y=at<signed char>(o); for(int k=0;k<32;k++){ short a=x[k]*x[k+32]; y[k]=(a>>3)+(char)x[k+64]; } unsigned short* w=(unsigned short*)(y+64); for(int k=0;k<8;k++) w[k]=((unsigned short*)x)[k]/(((unsigned short*)x)[k+8]|1); bool b=x[100]; y[100]=b; }
extern "C" __global__ void early(void* o, void* i){ u32* x=at<u32>(i); u32* y=at<u32>(o); if(x[0]&1) return; __shared__ u32 s[64]; s[T]=x[1]; __syncwarp(__activemask()); y[0]=s[T]+1; if(x[2]&2){ y[1]=5; return; } y[2]=x[3]*7; }
