#include "cli/doctor/facts.hpp"

#include "base/text.hpp"
#include "cli/doctor/words.hpp"
#include "core/node/admission.hpp"
#include "core/node/info.hpp"

#include <charconv>

namespace redlock::cli {

namespace {

/// The value of a number field. Empty if the field is missing or isn't a number.
std::optional<std::uint64_t> number_if_any(std::string_view info, std::string_view field) noexcept
{
    const std::string_view text = core::info_field(info, field);
    const char* const end = text.data() + text.size();
    std::uint64_t value = 0;
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    return error == std::errc{} && rest == end ? std::optional(value) : std::nullopt;
}

std::uint64_t number(std::string_view info, std::string_view field) noexcept
{
    return number_if_any(info, field).value_or(0);
}

std::string text(std::string_view info, std::string_view field)
{
    constexpr std::size_t longest = 64;
    return base::printable(core::info_field(info, field).substr(0, longest));
}

std::string first_of(std::string_view info, std::string_view field, std::string_view other)
{
    std::string found = text(info, field);
    return found.empty() ? text(info, other) : found;
}

/// Reads the product and its version. Valkey reports a Redis version too, for programs that check
/// for one, so its own version is read first.
void read_product(std::string_view info, server_facts& f)
{
    const bool is_valkey = !core::info_field(info, "valkey_version").empty();
    f.version = first_of(info, "valkey_version", "redis_version");
    if (!f.version.empty()) {
        f.product = is_valkey ? "Valkey" : "Redis";
    }
}

/// Whether the field exists and has a value other than `good`. An unknown value counts as bad.
bool is_not(std::string_view info, std::string_view field, std::string_view good)
{
    const std::string_view word = core::info_field(info, field);
    return !word.empty() && word != good;
}

std::string master_of(std::string_view info)
{
    const std::string host = text(info, "master_host");
    return host.empty() ? host : host + ":" + text(info, "master_port");
}

}  // namespace

server_facts read_info(std::string_view info)
{
    server_facts f;
    read_product(info, f);
    f.mode = first_of(info, "redis_mode", "server_mode");
    if (is_not(info, "cluster_enabled", "0")) {
        f.mode = "cluster";
    }
    f.role = text(info, "role");
    f.master = master_of(info);
    f.run_id = core::run_id_of(info);
    f.replicas = core::info_field(info, "connected_slaves").empty()
                     ? std::optional<std::uint64_t>(0)
                     : number_if_any(info, "connected_slaves");
    f.uptime = std::chrono::seconds(number(info, "uptime_in_seconds"));
    f.loading = text(info, "loading") == "0" ? "" : text(info, "loading");
    f.used_memory = number(info, "used_memory");
    f.max_memory = number_if_any(info, "maxmemory");
    f.eviction = text(info, "maxmemory_policy");
    f.appends = core::info_field(info, "aof_enabled") == "1";
    for (const char* field : {"rdb_last_bgsave_status", "aof_last_write_status"}) {
        if (is_not(info, field, "ok")) {
            f.failed_write = std::string(field) + ":" + text(info, field);
        }
    }
    return f;
}

std::string guard_of(std::string_view marker)
{
    const auto theirs = core::terms_in(marker);
    return theirs ? guard_text(static_cast<std::uint64_t>(theirs->nodes), theirs->max_ttl,
                               theirs->drift_ppb)
                  : std::string();
}

std::string own_keys(const std::string& resource)
{
    return resource + (resource.empty() ? "" : ":") + "redlock:doctor:";
}

const char* to_string(keeps k) noexcept
{
    switch (k) {
        case keeps::not_known: return "persistence not known";
        case keeps::nothing: return "keeps nothing on disk";
        case keeps::nothing_or_snapshots: return "no append-only file";
        case keeps::snapshots: return "snapshots";
        case keeps::by_and_by: return "appendfsync no";
        case keeps::all_but_a_second: return "appendfsync everysec";
        case keeps::appended: return "append-only file";
        case keeps::all_but_in_rewrites: return "appendfsync always but in rewrites";
        case keeps::everything: return "appendfsync always";
    }
    return "?";
}

}  // namespace redlock::cli
