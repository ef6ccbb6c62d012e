// A program of a few KB without a library, whose stacks need unwinding: no function keeps a frame pointer. A signal arrives
// every 8 ms of work, and its handler works on top of what it interrupts.
static volatile unsigned long sum;

#define ALONE __attribute__((noinline, noclone))

static long call(long n, long a, long b, long c, long d) {
  register long r10 __asm__("r10") = d;
  __asm__ volatile("syscall" : "+a"(n) : "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
  return n;
}

ALONE void work(unsigned long n) {
  for (unsigned long i = 0; i < n; i++) sum += i * sum;
}

ALONE void handler(int signal) {
  work(1000000);
  sum += signal;
}

ALONE void down(int depth) {
  volatile char some[48];
  some[depth & 31] = depth;
  if (depth > 0) down(depth - 1);
  else work(300000);
  sum += some[1];
}

// The size of the frame is known at run time only.
ALONE void flexible(unsigned long size) {
  volatile char *some = __builtin_alloca(size);
  some[0] = 1;
  work(300000);
  sum += some[0];
}

void restore(void);
__asm__(".text\n.type restore,@function\n"
        ".cfi_startproc\n.cfi_signal_frame\n"
        ".cfi_escape 0x0f,4,0x77,0xa0,0x01,0x06\n"  // the CFA is rsp of the signal's context
        ".cfi_escape 0x10,3,3,0x77,0x80,0x01\n"     // rbx
        ".cfi_escape 0x10,6,3,0x77,0xf8,0x00\n"     // rbp
        ".cfi_escape 0x10,16,3,0x77,0xa8,0x01\n"    // rip
        "nop\nrestore: mov $15, %rax\nsyscall\n.cfi_endproc\n.size restore,.-restore");

ALONE void run(unsigned long rounds) {
  struct { void (*handler)(int); unsigned long flags; void (*restorer)(void); unsigned long mask; } action =
      {handler, 0x04000000, restore, 0};
  struct { long interval[2], value[2]; } every = {{0, 8000}, {0, 8000}};
  call(13, 27, (long)&action, 0, 8);   // rt_sigaction(SIGPROF)
  call(38, 2, (long)&every, 0, 0);     // setitimer(ITIMER_PROF)
  for (unsigned long i = 0; i < rounds; i++) {
    down(i % 7);
    flexible(64 + i * 16);
  }
  call(231, 0, 0, 0, 0);               // exit_group
}

__asm__(".text\n.globl _start\n.type _start,@function\n_start:\n.cfi_startproc\n.cfi_undefined rip\n"
        "mov $7, %edi\ncall run\nhlt\n.cfi_endproc\n.size _start,.-_start");
