// Read by the thread sanitizer, where the program has one.

extern "C" const char* __tsan_default_suppressions();

/// Asio orders the last reference to an executor by a fence, which the sanitizer does not know; the
/// standard library counts references to an exception where the sanitizer does not look. Neither is
/// on top of the stack: that is operator delete.
extern "C" const char* __tsan_default_suppressions()
{
    return "race:boost::asio::execution::detail::shared_target_executor::~shared_target_executor\n"
           "race:std::__exception_ptr::exception_ptr::_M_release\n";
}
