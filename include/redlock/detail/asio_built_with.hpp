#pragma once

#include <redlock/detail/built_with.hpp>

#include <boost/asio/detail/config.hpp>
#include <boost/version.hpp>

// Settings that change executors, execution contexts and the memory of handlers.
namespace redlock::setting {

/// Version of the Boost headers.
template <int major, int minor, int patch>
struct REDLOCK_API boost_version;

using my_boost_version =
    boost_version<BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100>;

/// Whether Asio distinguishes executors and services by their type information.
template <bool>
struct REDLOCK_API rtti;

#if defined(BOOST_ASIO_NO_TYPEID)
using my_rtti = rtti<false>;
#else
using my_rtti = rtti<true>;
#endif

/// Whether Asio has mutexes and thread-specific memory.
template <bool>
struct REDLOCK_API asio_threads;

#if defined(BOOST_ASIO_HAS_THREADS)
using my_asio_threads = asio_threads<true>;
#else
using my_asio_threads = asio_threads<false>;
#endif

/// Whether thread-specific memory is a variable of the compiler or a key of the threads library.
template <bool>
struct REDLOCK_API asio_thread_keyword;

#if defined(BOOST_ASIO_HAS_THREAD_KEYWORD_EXTENSION)
using my_asio_thread_keyword = asio_thread_keyword<true>;
#else
using my_asio_thread_keyword = asio_thread_keyword<false>;
#endif

/// Whether the default executor is the one of the Networking TS.
template <bool>
struct REDLOCK_API asio_ts_executor;

#if defined(BOOST_ASIO_USE_TS_EXECUTOR_AS_DEFAULT)
using my_asio_ts_executor = asio_ts_executor<true>;
#else
using my_asio_ts_executor = asio_ts_executor<false>;
#endif

/// Whether execution contexts wait with epoll. Without epoll they wait with io_uring, and without
/// both with select().
template <bool>
struct REDLOCK_API asio_epoll;

#if defined(BOOST_ASIO_HAS_EPOLL)
using my_asio_epoll = asio_epoll<true>;
#else
using my_asio_epoll = asio_epoll<false>;
#endif

template <bool>
struct REDLOCK_API asio_io_uring;

#if defined(BOOST_ASIO_HAS_IO_URING)
using my_asio_io_uring = asio_io_uring<true>;
#else
using my_asio_io_uring = asio_io_uring<false>;
#endif

/// Whether a waiting thread is woken through an eventfd or through a pipe.
template <bool>
struct REDLOCK_API asio_eventfd;

#if defined(BOOST_ASIO_HAS_EVENTFD)
using my_asio_eventfd = asio_eventfd<true>;
#else
using my_asio_eventfd = asio_eventfd<false>;
#endif

/// Whether epoll wakes for timers through a timerfd, or by its timeout.
template <bool>
struct REDLOCK_API asio_timerfd;

#if defined(BOOST_ASIO_HAS_TIMERFD)
using my_asio_timerfd = asio_timerfd<true>;
#else
using my_asio_timerfd = asio_timerfd<false>;
#endif

/// Whether handlers carry a number for Asio's log.
template <bool>
struct REDLOCK_API asio_handler_tracking;

#if defined(BOOST_ASIO_ENABLE_HANDLER_TRACKING) || defined(BOOST_ASIO_CUSTOM_HANDLER_TRACKING)
using my_asio_handler_tracking = asio_handler_tracking<true>;
#else
using my_asio_handler_tracking = asio_handler_tracking<false>;
#endif

/// Whether buffers check how they are used. Asio defines its own macro for that only once
/// <boost/asio/buffer.hpp> is included.
template <bool>
struct REDLOCK_API asio_buffer_debugging;

#if defined(BOOST_ASIO_ENABLE_BUFFER_DEBUGGING) || \
    (defined(_GLIBCXX_DEBUG) && !defined(BOOST_ASIO_DISABLE_BUFFER_DEBUGGING))
using my_asio_buffer_debugging = asio_buffer_debugging<true>;
#else
using my_asio_buffer_debugging = asio_buffer_debugging<false>;
#endif

/// Number of blocks of each kind that a thread keeps for later operations. Asio's default is 2.
template <int>
struct REDLOCK_API asio_recycling_allocator_cache_size;

#if defined(BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE)
using my_asio_recycling_allocator_cache_size =
    asio_recycling_allocator_cache_size<BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE>;
#else
using my_asio_recycling_allocator_cache_size = asio_recycling_allocator_cache_size<2>;
#endif

/// Whether threads keep the memory of handlers and coroutines for later ones. Then a size follows
/// each block, which the code that frees the block reads.
template <bool>
struct REDLOCK_API asio_handler_recycling;

#if defined(BOOST_ASIO_DISABLE_SMALL_BLOCK_RECYCLING) ||     \
    defined(BOOST_ASIO_DISABLE_AWAITABLE_FRAME_RECYCLING) || \
    defined(BOOST_ASIO_DISABLE_HANDLER_HOOKS)
using my_asio_handler_recycling = asio_handler_recycling<false>;
#else
using my_asio_handler_recycling = asio_handler_recycling<true>;
#endif

/// Settings that change executors and the objects that run on them.
template <class... More>
using in_asio =
    common<my_glibcxx_debug, my_glibcxx_cxx11_abi, my_boost_version, my_rtti, my_asio_threads,
           my_asio_thread_keyword, my_asio_ts_executor, my_asio_epoll, my_asio_io_uring,
           my_asio_eventfd, my_asio_timerfd, my_asio_handler_tracking, my_asio_buffer_debugging,
           my_asio_recycling_allocator_cache_size, my_asio_handler_recycling, More...>;

/// Whether a thread that runs a context keeps an exception until the end of its turn. Only units
/// that use clients must agree on it: units that use scopes may be compiled without exceptions.
template <bool>
struct REDLOCK_API asio_exceptions;

#if defined(BOOST_ASIO_NO_EXCEPTIONS) || defined(BOOST_ASIO_DISABLE_STD_EXCEPTION_PTR)
using my_asio_exceptions = asio_exceptions<false>;
#else
using my_asio_exceptions = asio_exceptions<true>;
#endif

}  // namespace redlock::setting
