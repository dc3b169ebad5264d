/* Tells the processor that a loop waits for another thread. */
#ifndef SPRYI_PAUSE_H
#define SPRYI_PAUSE_H

#if defined(__x86_64__) || defined(__i386__)
#define SPRYI_PAUSE() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define SPRYI_PAUSE() __asm__ volatile("yield")
#else
#define SPRYI_PAUSE() ((void)0)
#endif

#endif
