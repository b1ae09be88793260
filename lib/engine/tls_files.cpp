#include "engine/tls_files.hpp"

#include "base/text.hpp"

#include <sys/stat.h>

#include <array>
#include <cstddef>
#include <exception>
#include <string>
#include <utility>

namespace redlock::engine {

tls_files::tls_files(const base::settings& s)
    : settings_(s),
      loaded_(look()),
      told_(loaded_),
      context_(make_tls_context(s))
{}

const std::shared_ptr<tls_context>& tls_files::latest(const teller& tell)
{
    const stamps now = look();
    if (now == loaded_) {
        told_ = loaded_;
        return context_;
    }
    std::string fault = unreadable(now);
    try {
        if (auto fresh = fault.empty() ? load_tls_context(settings_, fault) : nullptr) {
            context_ = std::move(fresh);
            loaded_ = told_ = now;
            tell(log_level::info, "TLS files have changed and were loaded again", {});
            return context_;
        }
    } catch (const std::exception& e) {
        fault = e.what();
    }
    if (std::exchange(told_, now) != now) {
        tell(log_level::warning,
             "TLS files have changed and can't be loaded; the client still uses the ones from "
             "before: ",
             fault);
    }
    return context_;
}

tls_files::stamp tls_files::look_at(const std::string& path) noexcept
{
    struct stat found {};
    if (path.empty() || ::stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) {
        return {};
    }
    return {found.st_dev, found.st_ino, found.st_size, found.st_mtim.tv_sec, found.st_mtim.tv_nsec};
}

std::string tls_files::unreadable(const stamps& now) const
{
    const tls_config& tls = settings_.tls;
    const std::array fields{std::pair("ca_file", &tls.ca_file),
                            std::pair("certificate_file", &tls.certificate_file),
                            std::pair("key_file", &tls.key_file)};
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const auto& [name, path] = fields[i];
        if (!path->empty() && now[i] == stamp{}) {
            return std::string("config::tls.") + name + ": " + base::printable(*path) +
                   ": it is not a regular file, or is gone";
        }
    }
    return {};
}

tls_files::stamps tls_files::look() const noexcept
{
    const tls_config& tls = settings_.tls;
    return {look_at(tls.ca_file), look_at(tls.certificate_file), look_at(tls.key_file)};
}

}  // namespace redlock::engine
