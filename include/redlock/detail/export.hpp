#pragma once

// The library hides every symbol without this mark. A static build needs no marks.
#if defined(REDLOCK_SHARED)
#define REDLOCK_API __attribute__((visibility("default")))
#else
#define REDLOCK_API
#endif
