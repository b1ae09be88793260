#include "load/versions.hpp"

#include "load/meter.hpp"

#include <redlock/version.hpp>

#if REDLOCK_HAS_TLS
#include <openssl/crypto.h>
#endif

#include <algorithm>

namespace redlock::bench {

std::map<std::string, std::string> library_versions(const std::vector<std::string>& urls)
{
    auto all = build_versions();
    all["redlock"] = version();
#if REDLOCK_HAS_TLS
    const auto speaks_tls = [](const std::string& url) { return url.starts_with("rediss://"); };
    if (std::ranges::any_of(urls, speaks_tls)) {
        all["openssl"] = OpenSSL_version(OPENSSL_VERSION_STRING);
    }
#else
    static_cast<void>(urls);
#endif
    return all;
}

}  // namespace redlock::bench
