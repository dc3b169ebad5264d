/* How much of a long test runs: less under sanitizers and in ./check --quick, all of it only in ./check --full. */
#pragma once

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

/* 1: long tests run all of their trials (SPRY_TEST_FULL); 0: they run a sample. */
#ifndef TEST_FULL
#define TEST_FULL 0
#endif

/* 1: long tests run their smallest sample in a build without a sanitizer, too (SPRY_TEST_QUICK). */
#ifndef TEST_QUICK
#define TEST_QUICK 0
#endif

/* 1: under ThreadSanitizer an even smaller sample. */
#define RACES_SAMPLED (RACES_ALONE && !TEST_FULL)

/* 1: the smallest sample. */
#define SAMPLED (RACES_ALONE || TEST_QUICK || (INSTRUMENTED && !TEST_FULL))
