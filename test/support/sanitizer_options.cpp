// The thread sanitizer reads this, if the program has one.

extern "C" const char* __tsan_default_suppressions();

/// Asio orders the last reference to an executor by a fence, which the sanitizer does not know. The
/// standard library counts references to an exception in code that the sanitizer does not see.
/// Neither is on top of the stack, where operator delete is.
extern "C" const char* __tsan_default_suppressions()
{
    return "race:boost::asio::execution::detail::shared_target_executor::~shared_target_executor\n"
           "race:std::__exception_ptr::exception_ptr::_M_release\n";
}
