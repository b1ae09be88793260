#include "cli/exit_status.hpp"

namespace redlock::cli {

exit_status exit_status_of(error_code error) noexcept
{
    if (error == condition::invalid_argument) {
        return usage;
    }
    if (error.category() != error_category()) {
        return internal;
    }
    switch (static_cast<errc>(error.value())) {
        case errc::contended:
        case errc::timed_out: return contended;
        case errc::unavailable:
        case errc::expired: return unavailable;
        case errc::lost:
        case errc::not_held: return lost;
        case errc::invalid_config: return usage;
        default: return internal;
    }
}

}  // namespace redlock::cli
