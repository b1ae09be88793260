#include "base/settings.hpp"
#include "base/text.hpp"
#include "cli/doctor/advice.hpp"
#include "cli/doctor/findings.hpp"
#include "cli/doctor/words.hpp"

#include <string>
#include <utility>
#include <vector>

namespace redlock::cli {

namespace {

/// A command that the scripts of the queue use.
struct step {
    needed what;
    const char* name;
    const char* rule;  ///< the ACL rule that permits it
};

constexpr step steps[] = {
    {needed::eval, "EVAL", "+eval"},       {needed::set, "SET", "+set"},
    {needed::pttl, "PTTL", "+pttl"},       {needed::pexpire, "PEXPIRE", "+pexpire"},
    {needed::del, "DEL", "+del"},          {needed::time, "TIME", "+time"},
    {needed::zadd, "ZADD", "+zadd"},       {needed::zcard, "ZCARD", "+zcard"},
    {needed::zrange, "ZRANGE", "+zrange"}, {needed::zrank, "ZRANK", "+zrank"},
    {needed::zrem, "ZREM", "+zrem"},
};

/// The commands of the queue that a node lacks for one reason.
struct lacking {
    std::vector<std::string> names{};
    std::string rules{};
    trial first{};
};

lacking lacking_for(const node_facts& f, trial::outcome reason)
{
    lacking out;
    for (const step& s : steps) {
        const trial& t = f[s.what];
        if (t.is != reason) {
            continue;
        }
        if (out.names.empty()) {
            out.first = t;
        }
        out.names.emplace_back(s.name);
        out.rules += (out.rules.empty() ? "" : " ") + std::string(s.rule);
    }
    return out;
}

/// Why the node can't serve a queue, in words that go on from its name, and what helps.
struct reason {
    std::string text{};
    std::string advice{};
};

reason reason_of_commands(const node_facts& f)
{
    reason out;
    for (const auto is :
         {trial::outcome::forbidden, trial::outcome::unknown, trial::outcome::refused}) {
        const lacking all = lacking_for(f, is);
        if (all.names.empty()) {
            continue;
        }
        const std::string names = listed(all.names);
        const missing_command c{names.c_str(), all.rules.c_str(), all.first};
        out.text += (out.text.empty() ? "" : ", and ") + lack_text(c);
        out.advice += (out.advice.empty() ? "" : " ") + lack_advice(c);
    }
    return out;
}

/// The reason that the answer to the scripts of the queue gives, if the node lacks no command.
reason reason_of_scripts(const node_facts& f, const base::settings& s)
{
    const trial& scripts = f[needed::queue];
    if (scripts.is == trial::outcome::forbidden_key) {
        return f.of_resource.is_known
                   ? reason()
                   : reason{"does not permit keys that end with " +
                                std::string(base::queue_suffix) + " and " +
                                std::string(base::ticket_suffix),
                            "Permit all keys with your prefix to the user that clients log in "
                            "as: ~" +
                                base::printable(s.key_prefix) + "*."};
    }
    const missing_command c{"the scripts of the queue", "+@sortedset", scripts};
    return {lack_text(c), lack_advice(c)};
}

/// Why no script of the queue runs. Empty if they run, or if other findings say why no lock can be
/// acquired.
reason reason_of_node(const node_facts& f, const base::settings& s)
{
    const bool takes_locks = f.unusable.empty() && f.permits(needed::set) &&
                             !(f[needed::eval].is_missing() && f[needed::evalsha].is_missing());
    if (!takes_locks || f[needed::queue].is == trial::outcome::went) {
        return {};
    }
    reason out = reason_of_commands(f);
    return out.text.empty() ? reason_of_scripts(f, s) : out;
}

/// Why the named resource has no queue, though the scripts run.
reason reason_of_resource(const node_facts& f, const base::settings& s)
{
    const resource_facts& found = f.of_resource;
    const key_names names = names_of(f, s);
    if (found.has_foreign_queue) {
        return {"has " + names.queue + " with another type than a queue",
                "Find out which program writes it, or choose another name or a --key-prefix."};
    }
    // The finding about the keys that every lock needs names the other keys too.
    const bool is_said = found.forbids_lock || (found.forbids_counter && s.fencing);
    if (is_said || (!found.forbids_queue && !found.forbids_ticket)) {
        return {};
    }
    std::vector<std::string> keys;
    if (found.forbids_queue) {
        keys.push_back(names.queue);
    }
    if (found.forbids_ticket) {
        keys.push_back(names.tickets);
    }
    return {"does not permit " + listed(keys),
            "Permit this to the user that clients log in as: " + rules_for(keys) + "."};
}

}  // namespace

void judge_queue(const node_facts& f, const base::settings& s, std::vector<finding>& out)
{
    if (!s.fair_queue) {
        return;
    }
    reason why = reason_of_node(f, s);
    if (why.text.empty()) {
        why = reason_of_resource(f, s);
    }
    if (!why.text.empty()) {
        out.push_back(
            {severity::warning, f.node, "no-queue",
             why.text + ": clients that wait for a lock form no queue there, and may get it in any "
                        "order.",
             std::move(why.advice)});
    }
}

}  // namespace redlock::cli
