#pragma once

// The sanitizers in use, as constants to test with #if, because compilers differ in how they say
// it.

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define REDLOCK_TEST_ADDRESS_SANITIZER 1
#endif
#if __has_feature(thread_sanitizer)
#define REDLOCK_TEST_THREAD_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define REDLOCK_TEST_ADDRESS_SANITIZER 1
#endif
#if defined(__SANITIZE_THREAD__)
#define REDLOCK_TEST_THREAD_SANITIZER 1
#endif
#if !defined(REDLOCK_TEST_ADDRESS_SANITIZER)
#define REDLOCK_TEST_ADDRESS_SANITIZER 0
#endif
#if !defined(REDLOCK_TEST_THREAD_SANITIZER)
#define REDLOCK_TEST_THREAD_SANITIZER 0
#endif
#define REDLOCK_TEST_SANITIZED (REDLOCK_TEST_ADDRESS_SANITIZER || REDLOCK_TEST_THREAD_SANITIZER)
