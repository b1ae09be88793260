#include "cli/doctor.hpp"
namespace redlock::cli {
int doctor(const doctor_options&, std::ostream&)
{
    return 0;
}
}  // namespace redlock::cli
