/* Whether a sanitizer watches, under which everything takes many times as long. */
#ifndef TESTS_INSTRUMENTED_H
#define TESTS_INSTRUMENTED_H

/* 1 under AddressSanitizer or ThreadSanitizer, where tests take turns with what they would else combine. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define INSTRUMENTED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define INSTRUMENTED 1
#endif
#endif
#ifndef INSTRUMENTED
#define INSTRUMENTED 0
#endif

/* 1 under ThreadSanitizer, which looks for races alone: they are in how rows are dealt out, not in the numbers. */
#if defined(__SANITIZE_THREAD__)
#define RACES_ALONE 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RACES_ALONE 1
#endif
#endif
#ifndef RACES_ALONE
#define RACES_ALONE 0
#endif

#endif
