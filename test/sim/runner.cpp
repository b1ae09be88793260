#include "sim/runner.hpp"

#include "sim/last_words.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <sstream>

namespace redlock::sim {

namespace {

constexpr std::array<std::string_view, 23> beyond_names{
    "nothing",
    "clock_step",
    "amnesia",
    "ignores_owns",
    "rollback",
    "date_back",
    "swapped",
    "liar",
    "liar_of_counters",
    "unequal_nodes",
    "counter_deleted",
    "expired_date_back",
    "used_date_back",
    "expiring_date_back",
    "unequal_counter_ttl",
    "date_back_borne",
    "guarded_date_back",
    "date_back_before",
    "admitted_at_once",
    "one_unguarded",
    "restored",
    "false_durable",
    "unequal_max_ttl",
};

result play_once(const options& o, std::ostream* trace)
{
    const playing now(o.seed);
    world w(make_plan(o), trace);
    result r;
    try {
        w.run();
    } catch (const double_lease& e) {
        r.ended = result::kind::two_leases;
        r.what = e.what();
    } catch (const disorder& e) {
        r.ended = result::kind::disorder;
        r.what = e.what();
    } catch (const inexcusable& e) {
        r.ended = result::kind::condemned;
        r.what = e.what();
    } catch (const std::exception& e) {
        r.ended = result::kind::violated;
        r.what = e.what();
    }
    r.hash = w.hash();
    r.counts = w.counts;
    r.counts.hashes = r.hash;
    return r;
}

}  // namespace

result play(const options& o, bool twice, std::ostream* trace)
{
    result r = play_once(o, trace);
    if (twice && play_once(o, nullptr).hash != r.hash) {
        r.ended = result::kind::not_repeatable;
        r.what = "run twice, the play went another way";
    }
    return r;
}

std::string gist_of(const std::string& what)
{
    std::istringstream words(what);
    std::string gist;
    for (std::string word; words >> word;) {
        if (std::none_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; })) {
            gist += (gist.empty() ? "" : " ") + word;
        }
    }
    return gist;
}

options shrink(options failing)
{
    const result seen = play_once(failing, nullptr);
    const auto fails = [&seen, gist = gist_of(seen.what)](const options& o) {
        const result r = play_once(o, nullptr);
        return r.ended == seen.ended && gist_of(r.what) == gist;
    };
    failing.allowed = make_plan(failing).faults;
    for (std::size_t i = 0; i < fault_kinds; ++i) {
        options without = failing;
        without.allowed &= ~only(static_cast<fault>(i));
        if (without.allowed != failing.allowed && fails(without)) {
            failing = without;
        }
    }
    // The first acquires are the same, however many follow.
    unsigned least = 1;
    unsigned most = make_plan(failing).acquires;
    while (least < most) {
        options fewer = failing;
        fewer.acquires = least + (most - least) / 2;
        if (fails(fewer)) {
            most = *fewer.acquires;
        } else {
            least = *fewer.acquires + 1;
        }
    }
    options fewest = failing;
    fewest.acquires = most;
    return fails(fewest) ? fewest : failing;
}

std::string arguments_of(const options& o)
{
    return "--seed " + std::to_string(o.seed) + further_arguments_of(o);
}

std::string further_arguments_of(const options& o)
{
    std::string text;
    if (o.allowed != all_faults) {
        text += " --faults " + names_of(o.allowed);
    }
    if (o.acquires) {
        text += " --acquires " + std::to_string(*o.acquires);
    }
    if (o.only_tokens) {
        text += " --only-tokens";
    }
    if (o.outside != beyond::nothing) {
        text += " --beyond " + std::string(name_of(o.outside));
    }
    return text;
}

std::string_view name_of(beyond b) noexcept
{
    return beyond_names[static_cast<std::size_t>(b)];
}

std::optional<beyond> beyond_named(std::string_view name) noexcept
{
    const auto at = std::find(beyond_names.begin(), beyond_names.end(), name);
    if (at == beyond_names.end()) {
        return std::nullopt;
    }
    return static_cast<beyond>(at - beyond_names.begin());
}

}  // namespace redlock::sim
