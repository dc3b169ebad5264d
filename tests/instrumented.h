/*
 * Decides how many trials long tests run. With sanitizers and in ./check --quick, they run a sample. In ./check --full,
 * they run all trials.
 */
#pragma once

/*
 * 1 under AddressSanitizer or ThreadSanitizer. Tests then run only some combinations of their parameters instead of
 * all.
 */
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

/*
 * 1 under ThreadSanitizer, which only finds data races. Races depend on how rows are distributed over threads, not
 * on values.
 */
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

/* 1: long tests run a small sample, even without a sanitizer (SPRY_TEST_QUICK). */
#ifndef TEST_QUICK
#define TEST_QUICK 0
#endif

/* 1 under ThreadSanitizer: long tests run an even smaller sample than with SAMPLED. */
#define RACES_SAMPLED (RACES_ALONE && !TEST_FULL)

/* 1: long tests run a small sample. */
#define SAMPLED (RACES_ALONE || TEST_QUICK || (INSTRUMENTED && !TEST_FULL))
