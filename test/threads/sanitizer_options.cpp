// Read by the thread sanitizer, where the program has one.

extern "C" const char* __tsan_default_suppressions();

/// Asio orders the last reference to an executor by a fence, which the sanitizer does not know.
extern "C" const char* __tsan_default_suppressions()
{
    return "race:boost::asio::execution::detail::shared_target_executor\n";
}
