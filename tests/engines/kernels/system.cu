typedef unsigned u32;
#define T threadIdx.x
template<class A> __device__ A* at(void* p){ return (A*)((char*)p + T*256); }
extern "C" __device__ int printf(const char*,...);
extern "C" __global__ void pr(void* o, void* i){ if(T==3) printf("hello %d %u %f %s %c %llx %5.2e|%-6d|%06x\n",-5,7u,2.5,"str",'q',0x123456789abcull,1234.5,42,255); at<int>(o)[0]=1; }
extern "C" __global__ void ma(void* o, void* i){ int n=at<u32>(i)[0]%50+1; int* p=(int*)malloc(n*4); for(int k=0;k<n;k++) p[k]=k*T; int s=0; for(int k=0;k<n;k++) s+=p[k]; free(p); at<int>(o)[0]=s; char* q=new char[10]; q[3]=T; at<char>(o)[9]=q[3]; delete[] q; }
